import { useState } from "preact/hooks";
import { useRead } from "../../shared/load.ts";
import { instantText } from "../../shared/instants.ts";
import { place, setQuery } from "../../shared/place.ts";
import { useTyped } from "../../shared/typed.ts";
import { everRequestsText } from "../../shared/words.ts";
import { Form, TextField } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { Empty, Problem, Show } from "../../parts/states.tsx";
import { type EverGroup, everGroups, everQuestion } from "./ever.ts";

/** Everything that a principal could ever do, or all who could ever reach a resource. */
export function EverView({ tenant }: { tenant: string }) {
  const { query } = place.value;
  const asked = {
    actor: query.get("actor") ?? "",
    resource: query.get("resource") ?? "",
    action: query.get("action") ?? "",
  };
  const [typed, change] = useTyped(asked);
  const found = everQuestion(asked);
  return (
    <>
      <Form label="Who could ever do what" isRow onSend={() => setQuery({ ...typed })}>
        <PrincipalField
          label="Who"
          hint="or name a resource"
          value={typed.actor}
          onChange={(actor) => change({ actor })}
        />
        <TextField
          label="Resource"
          hint="such as files/notes"
          value={typed.resource}
          onChange={(resource) => change({ resource })}
        />
        <TextField
          label="Action (optional)"
          hint="any, unless given"
          value={typed.action}
          onChange={(action) => change({ action })}
        />
        <button type="submit" class="button main">
          Show
        </button>
      </Form>
      {found === undefined && (
        <Empty title="Name a principal or a resource.">
          It counts what is held now or later, what holders may hand on, and what a person may approve.
        </Empty>
      )}
      {found !== undefined && "problem" in found && <Problem text={found.problem} />}
      {found !== undefined && "question" in found && (
        <EverReach key={JSON.stringify(found)} tenant={tenant} {...found} />
      )}
    </>
  );
}

function EverReach({ tenant, question }: { tenant: string; question: object }) {
  const reach = useRead("readEverReach", { namespaceId: tenant, ...question });
  return (
    <Show what="The reach" of={reach}>
      {({ at, reach: regions, more }) => (
        <>
          {regions.length === 0 && <Empty title="As the grants are, this can never happen." />}
          {everGroups(regions).map((group) => (
            <Regions key={group.title} of={group} at={at} />
          ))}
          {more === true && <p class="note">There is more than this.</p>}
        </>
      )}
    </Show>
  );
}

function Regions({ of: { title, regions }, at }: { of: EverGroup; at: string }) {
  const [shown, setShown] = useState(50);
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul class="plain-list">
        {regions.slice(0, shown).map((region) => (
          <li key={JSON.stringify(region)}>
            <ForeignText text={everRequestsText(region, { at, instant: instantText })} />
            {region.way.length > 0 && (
              <span class="hint">
                {" by "}
                {region.way.map((id, step) => (
                  <span key={id}>
                    {step > 0 && " > "}
                    <GrantLink id={id} />
                  </span>
                ))}
              </span>
            )}
          </li>
        ))}
      </ul>
      {regions.length > shown && (
        <button type="button" class="button more" onClick={() => setShown(shown + 100)}>
          Show more of {regions.length}
        </button>
      )}
    </section>
  );
}
