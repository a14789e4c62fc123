import { may, request } from "../../shared/api.ts";
import { useLoad, useRead } from "../../shared/load.ts";
import { addressOf, place } from "../../shared/place.ts";
import { isAboutEscalations, useRefresh } from "../../shared/refresh.ts";
import { signal } from "@preact/signals";
import { ActionButton } from "../../parts/button.tsx";
import { ForeignParagraph } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Show } from "../../parts/states.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { assistantCredential, endText, story, storyAgent, type StoryPart } from "./story.ts";

/** The turns that were started here, by tenant and part of the story: coming back shows their states. */
const started = signal<Readonly<Record<string, string>>>({});

/** The whole demo without a terminal: turns to start as the assistant, and the state of each. */
export function StoryPanel() {
  const { tenant = "" } = place.value;
  const known = useRead("listCredentials", { namespaceId: tenant, limit: 500 });
  return (
    <section class="panel story" aria-labelledby="story">
      <div>
        <h2 id="story">Play the story</h2>
        <p class="hint">Alice has an assistant. Have it do something, and watch.</p>
      </div>
      <Show what="The assistant's credential" of={known}>
        {({ credentials }) => {
          const found = assistantCredential(credentials, Date.now());
          return found === undefined ? (
            <p class="calm">This tenant has no credential of agent:{storyAgent} that counts.</p>
          ) : (
            <ol class="story-parts">
              {story.map((part) => (
                <Part key={part.name} part={part} tenant={tenant} credentialId={found.id} />
              ))}
            </ol>
          );
        }}
      </Show>
    </section>
  );
}

function Part({ part, tenant, credentialId }: { part: StoryPart; tenant: string; credentialId: string }) {
  const key = JSON.stringify([tenant, part.name]);
  const executionId = started.value[key];
  const start = async (): Promise<void> => {
    const input = { namespaceId: tenant, credentialId, agent: storyAgent, payload: part.payload };
    const turn = await request("startTrialTurn", input);
    started.value = { ...started.value, [key]: turn.state.executionId };
  };
  return (
    <li class="story-part">
      <h3>{part.title}</h3>
      <p class="hint">{part.about}</p>
      <div class="actions">
        <ActionButton act={start} kind={part.name === "diary" ? "main" : "plain"}>
          {executionId === undefined ? part.button : "Once more"}
        </ActionButton>
      </div>
      <div class="story-state" role="status">
        {executionId !== undefined && <PartState key={executionId} tenant={tenant} executionId={executionId} />}
      </div>
    </li>
  );
}

/** The state of a turn of the story, live. */
function PartState({ tenant, executionId }: { tenant: string; executionId: string }) {
  const actor = `agent:${storyAgent}`;
  const turn = useLoad(async () => {
    const { state } = await request("inspectTurn", { namespaceId: tenant, executionId, actor });
    if (state.status !== "waiting") return { state };
    const { escalations } = await request("listEscalations", { namespaceId: tenant, status: "pending", limit: 500 });
    return { state, escalation: escalations.find((one) => one.executionId === executionId)?.id };
  }, [tenant, executionId]);
  useRefresh(
    turn.reload,
    (event) => isAboutEscalations(event) || (event.kind === "turn" && event.executionId === executionId),
  );
  return (
    <Show what="The turn" of={turn}>
      {({ state, escalation }) => (
        <>
          <p class="story-line">
            <StateTag state={state.status} />
            {escalation !== undefined && <Link to={addressOf(["questions", escalation])}>Answer its question</Link>}
            {may("inspectTurn") && <Link to={addressOf(["turns", executionId], { of: actor })}>Its timeline</Link>}
          </p>
          {state.result?.status === "succeeded" && (
            <p class="hint story-end">
              It came to: <ForeignParagraph text={endText(state.result.output)} />
            </p>
          )}
        </>
      )}
    </Show>
  );
}
