import { useState } from "preact/hooks";
import type { AdminOutput } from "turnpike-host/admin-contract";
import { AdminClientError } from "turnpike-host/admin-contract/call";
import { useAct } from "../../shared/act.ts";
import { may, request } from "../../shared/api.ts";
import { useRead } from "../../shared/load.ts";
import { addressOf, place, setQuery } from "../../shared/place.ts";
import { useTyped } from "../../shared/typed.ts";
import { principalOf, principalText } from "../../shared/words.ts";
import { CheckField } from "../../parts/check-field.tsx";
import { Form } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { Empty, Problem, Show } from "../../parts/states.tsx";
import { changesText } from "./settings-changes.ts";

type Settings = AdminOutput<"readNamespaces">;

/** Which tool namespaces are on for an actor. */
export function Namespaces({ tenant }: { tenant: string }) {
  const actor = place.value.query.get("actor") ?? "";
  const [typed, change] = useTyped({ actor });
  const principals = useRead("listPrincipals", { namespaceId: tenant, limit: 500 });
  const names = (principals.value?.principals ?? []).map(({ principal }) => principalText(principal));
  const isActor = principalOf(actor) !== undefined;
  return (
    <>
      <p class="hint">
        An actor sees the tools of namespaces that are on. That grants nothing: each call still needs a grant.
      </p>
      <Form label="Whose namespaces" isRow onSend={() => setQuery({ actor: typed.actor.trim() })}>
        <PrincipalField label="Actor" value={typed.actor} onChange={(text) => change({ actor: text })} />
        <button type="submit" class="button">
          Show
        </button>
      </Form>
      {actor !== "" && !isActor && <Problem text="Actor: write kind:id, such as agent:assistant." />}
      {isActor && <Switches key={`${tenant} ${actor}`} tenant={tenant} actor={actor} />}
      {actor === "" && (
        <Show what="principals" of={principals}>
          {() =>
            names.length === 0 ? (
              <Empty title="No principal is known in this tenant yet.">
                Type an actor above, or make a credential first.
              </Empty>
            ) : (
              <ul class="plain-list">
                {names.map((name) => (
                  <li key={name}>
                    <Link to={addressOf(["tools", "namespaces"], { actor: name })}>
                      <ForeignText text={name} />
                    </Link>
                  </li>
                ))}
              </ul>
            )
          }
        </Show>
      )}
    </>
  );
}

/** A switch for each namespace. It changes only after the host has made the change, which fails when another operator was faster. */
function Switches({ tenant, actor }: { tenant: string; actor: string }) {
  const read = useRead("readNamespaces", { namespaceId: tenant, actor });
  const [changed, setChanged] = useState<Settings>();
  const { problem, run } = useAct();
  const [said, setSaid] = useState("");
  const turn = async (settings: Settings, name: string, isOn: boolean): Promise<void> => {
    setSaid("");
    try {
      const update = isOn ? { enable: [name] } : { disable: [name] };
      const { actor: whose, version: expectedVersion } = settings;
      setChanged(await request("changeNamespaces", { namespaceId: tenant, actor: whose, update, expectedVersion }));
      setSaid(`${name} is ${isOn ? "on" : "off"}.`);
    } catch (error) {
      const isConflict = error instanceof AdminClientError && error.code === "conflict";
      throw isConflict ? new Error(await readMeanwhile(settings, name)) : error;
    }
  };
  /** Shows what there is now, and says what another operator changed. */
  const readMeanwhile = async (settings: Settings, name: string): Promise<string> => {
    const now = await request("readNamespaces", { namespaceId: tenant, actor }).catch(() => undefined);
    if (now === undefined) return "Another operator changed these settings meanwhile. Try again.";
    setChanged(now);
    const changes = changesText(settings.enabled, now.enabled);
    return `Another operator changed these settings meanwhile${changes && ` (${changes})`}. ${name} was not switched; this is what there is now.`;
  };
  return (
    <Show what="namespaces" of={read}>
      {(first) => {
        const settings = changed ?? first;
        return (
          <section class="panel" aria-labelledby="namespaces-title">
            <h2 id="namespaces-title">
              <ForeignText text={actor} />{" "}
              <span class="hint">
                {settings.enabled.length} of {settings.known.length} on
              </span>
            </h2>
            {problem !== undefined && <Problem text={problem} />}
            {settings.known.length === 0 && <p>This host has no tools.</p>}
            <ul class="plain-list switches">
              {settings.known.map((name) => {
                const isOn = settings.enabled.includes(name);
                return (
                  <li key={name}>
                    <CheckField
                      kind="switch"
                      label={
                        <>
                          <ForeignText text={name} /> <span class="hint">{isOn ? "on" : "off"}</span>
                        </>
                      }
                      isOn={isOn}
                      isDisabled={!may("changeNamespaces")}
                      onChange={(wanted) => void run(() => turn(settings, name, wanted))}
                    />
                  </li>
                );
              })}
            </ul>
            <p class="hint" role="status">
              {said !== "" && <ForeignText text={said} />}
            </p>
          </section>
        );
      }}
    </Show>
  );
}
