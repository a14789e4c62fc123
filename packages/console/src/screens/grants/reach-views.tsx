import { nameText, whoText } from "turnpike-host/display";
import { request } from "../../shared/api.ts";
import { useRead } from "../../shared/load.ts";
import { usePages } from "../../shared/pages.ts";
import { addressOf, place, setQuery } from "../../shared/place.ts";
import { useTyped } from "../../shared/typed.ts";
import { listText, principalOf, principalText, visibleText } from "../../shared/words.ts";
import { Form, TextField } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";
import { Link } from "../../parts/link.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Chain } from "./chain.tsx";
import { termsText } from "./grant-words.ts";
import { type Place, reachTree } from "./reach-tree.ts";

interface Asked {
  actor: string;
  authority: string;
  purpose: string;
}

/** Everywhere that a principal may act now, as a tree of places. */
export function ReachView({ tenant }: { tenant: string }) {
  const { query } = place.value;
  const asked = {
    actor: query.get("actor") ?? "",
    authority: query.get("authority") ?? "",
    purpose: query.get("purpose") ?? "",
  };
  const [typed, change] = useTyped(asked);
  return (
    <>
      <Form label="What a principal can reach" isRow onSend={() => setQuery({ ...typed })}>
        <PrincipalField label="Who" value={typed.actor} onChange={(actor) => change({ actor })} isRequired />
        <PrincipalField
          label="On whose grants"
          hint="their own, unless given"
          value={typed.authority}
          onChange={(authority) => change({ authority })}
        />
        <TextField
          label="For what purpose"
          hint="any, unless given"
          value={typed.purpose}
          onChange={(purpose) => change({ purpose })}
        />
        <button type="submit" class="button main">
          Show
        </button>
      </Form>
      {principalOf(asked.actor) === undefined ? (
        <Empty title="Choose a principal to see everywhere it may act now.">
          Write kind:id, such as agent:assistant.
        </Empty>
      ) : (
        <Reach tenant={tenant} asked={asked} />
      )}
    </>
  );
}

function Reach({ tenant, asked }: { tenant: string; asked: Asked }) {
  const { actor, authority, purpose } = asked;
  const reach = useRead("readReach", {
    namespaceId: tenant,
    actor,
    ...(authority !== "" && { authority, owner: authority }),
    ...(purpose !== "" && { purpose }),
  });
  return (
    <Show what="The reach" of={reach}>
      {({ reach: entries }) =>
        entries.length === 0 ? (
          <Empty title={`${actor} can reach nothing now.`}>
            {authority === ""
              ? "A principal that acts for another needs that other one named above."
              : "No live grant of theirs says otherwise."}
          </Empty>
        ) : (
          <Places of={reachTree(entries)} asked={asked} />
        )
      }
    </Show>
  );
}

function Places({ of, asked }: { of: readonly Place[]; asked: Asked }) {
  return (
    <ul class="places">
      {of.map((at) => (
        <li key={at.name}>
          <span class="place">
            <span class="code">
              <ForeignText text={at.name} />
            </span>
            {at.entries.map((entry) => (
              <Right
                key={JSON.stringify(entry)}
                entry={entry}
                why={{ ...asked, owner: asked.authority, resource: at.resource }}
              />
            ))}
          </span>
          {at.children.length > 0 && <Places of={at.children} asked={asked} />}
        </li>
      ))}
    </ul>
  );
}

/** What may be done at a place, each action with the way to its explanation. */
function Right({
  entry: { actions, scope, approval, owner, grantIds },
  why,
}: {
  entry: Place["entries"][number];
  why: Readonly<Record<string, string>>;
}) {
  return (
    <span class="right">
      {actions.map((action) => (
        <Link
          key={action}
          class="tag good"
          to={addressOf(["why"], { ...why, action: action === "*" ? "read" : action })}
        >
          {action === "*" ? "anything" : visibleText(action)}
        </Link>
      ))}
      {scope === "descendants" && <Tag text="and below" />}
      {owner !== undefined && <Tag text={`of ${principalText(owner)}`} />}
      {approval !== undefined && <Tag text="needs approval" tone="wait" />}
      <span class="hint">
        by{" "}
        {grantIds.map((id) => (
          <span key={id}>
            <GrantLink id={id} />{" "}
          </span>
        ))}
      </span>
    </span>
  );
}

/** Who can reach a resource now, each with the chain that says so. */
export function WhoView({ tenant }: { tenant: string }) {
  const { query } = place.value;
  const asked = { resource: query.get("resource") ?? "", action: query.get("action") ?? "" };
  const [typed, change] = useTyped(asked);
  return (
    <>
      <Form label="Who can reach a resource" isRow onSend={() => setQuery({ ...typed })}>
        <TextField
          label="Resource"
          value={typed.resource}
          hint="such as files/notes/todo.md"
          onChange={(resource) => change({ resource })}
          isRequired
        />
        <TextField
          label="Action (optional)"
          value={typed.action}
          hint="any, unless given"
          onChange={(action) => change({ action })}
        />
        <button type="submit" class="button main">
          Show
        </button>
      </Form>
      {asked.resource === "" ? (
        <Empty title="Name a resource to see all principals that can reach it now, and why." />
      ) : (
        <Reachers tenant={tenant} {...asked} />
      )}
    </>
  );
}

function Reachers({ tenant, resource, action }: { tenant: string; resource: string; action: string }) {
  const found = usePages(
    async (cursor) => {
      const input = { namespaceId: tenant, resource, limit: 25, cursor, ...(action !== "" && { action }) };
      const page = await request("listReachers", input);
      return { items: page.reachers, cursor: page.cursor };
    },
    [tenant, resource, action],
  );
  return (
    <>
      {found.items?.length === 0 && !found.hasMore && (
        <Empty title={`No one can ${action || "reach"} ${resource} now.`} />
      )}
      <ul class="plain-list reachers">
        {found.items?.map(({ principal, owner, actions, approval, purposes, expiresAt, chain }) => (
          <li key={`${principalText(principal)} ${chain[0]?.id}`} class="panel">
            <p>
              <strong>
                <ForeignText text={principalText(principal)} />
              </strong>{" "}
              may{" "}
              <ForeignText
                text={[
                  listText(actions.map((one) => (one === "*" ? "do anything" : nameText(one)))),
                  owner && `with what is of ${whoText(owner)}`,
                  termsText({ ...(purposes && { purposes }), ...(expiresAt && { expiresAt }) }),
                ]
                  .filter(Boolean)
                  .join(", ")}
              />{" "}
              {approval !== undefined && <Tag text="needs approval" tone="wait" />}
            </p>
            <Chain grants={chain.toReversed()} />
          </li>
        ))}
      </ul>
      <ListEnd what="of them" of={found} />
    </>
  );
}
