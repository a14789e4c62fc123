import { useRead } from "../../base/load.ts";
import { spanText } from "../../base/moments.ts";
import { useNow } from "../../base/now.ts";
import { addressOf, place } from "../../base/place.ts";
import { useRefresh } from "../../base/refresh.ts";
import { count } from "../../base/words.ts";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Heads } from "../trail/heads.tsx";

/** The hosts that run on the database. */
export function Hosts() {
  const hosts = useRead("listHosts", {});
  const now = useNow(60_000);
  useRefresh(hosts.reload, ({ kind }) => kind === "turn");
  return (
    <Panel title="Hosts">
      <Show what="hosts" of={hosts}>
        {({ hosts: all, version, database }) => (
          <>
            <ul class="row-list">
              {all.map(({ id, startedAt, isThis, turns }) => (
                <li key={id}>
                  <Tag text={`host ${id}`} tone="good" />
                  <span class="hint">
                    up {spanText(now - Date.parse(startedAt))}
                    {isThis && ", this one"}
                  </span>
                  <span class="number">{count(turns, "turn")}</span>
                </li>
              ))}
            </ul>
            <p class="hint">
              Turnpike {version}, {database === "embedded" ? "embedded database" : "PostgreSQL"}
            </p>
          </>
        )}
      </Show>
    </Panel>
  );
}

/** Where the chains of the audit trail end. */
export function AuditHeads() {
  const { tenant = "" } = place.value;
  const heads = useRead("readAuditHeads", { namespaceId: tenant });
  useRefresh(heads.reload, ({ kind }) => kind === "trail");
  return (
    <Panel title="Audit trail" way={<Link to={addressOf(["trail"])}>The trail</Link>}>
      <Show what="the trail" of={heads}>
        {(value) => <Heads {...value} />}
      </Show>
    </Panel>
  );
}
