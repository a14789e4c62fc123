import { useState } from "preact/hooks";
import type { Grant } from "turnpike/contracts";
import { may } from "../../shared/api.ts";
import { addressOf, go } from "../../shared/place.ts";
import { principalText } from "../../shared/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { Form } from "../../parts/fields.tsx";
import { Link } from "../../parts/link.tsx";
import { Problem } from "../../parts/states.tsx";
import { DraftFields, GrantAsText, useDraft } from "./draft-form.tsx";
import { changeOf } from "./draft.ts";
import { CapabilityList } from "./grant-facts.tsx";
import { Preview } from "./preview.tsx";

/** A grant that is typed, and beside it what it would change. Without a way to send it, it is only tried. */
export function DraftView({
  name,
  first,
  verb = "Try",
  send,
}: {
  name: string;
  first: Parameters<typeof useDraft>[1];
  verb?: string;
  send?: (grant: Grant) => Promise<Grant>;
}) {
  const { draft, grant, problems, change, clear } = useDraft(name, first);
  const [isTried, setTried] = useState(false);
  const act = async (): Promise<void> => {
    setTried(true);
    if (grant === undefined || send === undefined) return;
    const issued = await send(grant);
    go(addressOf(["grants", issued.id]));
    clear();
  };
  const title = send === undefined ? "What would change" : "What it would change";
  return (
    <div class="draft">
      <Form label={`${verb} a grant`} onSend={() => setTried(true)}>
        <DraftFields draft={draft} problems={problems} showsProblems={isTried} onChange={change} />
        {isTried && grant === undefined && <Problem text="Something is missing or not right: see the fields in red." />}
        {send !== undefined && (
          <div class="actions">
            <ActionButton kind="main" isSubmit act={act}>
              {verb} this grant
            </ActionButton>
            <Link to={addressOf(["grants", ...(draft.parentId === undefined ? [] : [draft.parentId])])}>Not now</Link>
          </div>
        )}
      </Form>
      <section class="panel" aria-label={title}>
        <h2>{title}</h2>
        {grant === undefined ? (
          <p class="hint">Say who may do what: it is held against the last 1,000 decisions, and changes nothing.</p>
        ) : (
          <>
            <CapabilityList of={grant.capabilities} who={principalText(grant.subject)} />
            <Preview change={changeOf(grant)} />
            {send === undefined && may("createGrant") && (
              <Link to={addressOf(["grants", "issue"])}>Go on and issue it…</Link>
            )}
            <GrantAsText grant={grant} />
          </>
        )}
      </section>
    </div>
  );
}
