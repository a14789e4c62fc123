import { useRead } from "../../shared/load.ts";
import { spanText } from "../../shared/instants.ts";
import { useNow } from "../../shared/now.ts";
import { addressOf, place } from "../../shared/place.ts";
import { useRefresh } from "../../shared/refresh.ts";
import { count } from "../../shared/words.ts";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Heads } from "../audit-log/heads.tsx";

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

/** Where the chains of the audit log end. */
export function AuditHeads() {
  const { tenant = "" } = place.value;
  const heads = useRead("readAuditHeads", { namespaceId: tenant });
  useRefresh(heads.reload, ({ kind }) => kind === "trail");
  return (
    <Panel title="Audit log" way={<Link to={addressOf(["trail"])}>The audit log</Link>}>
      <Show what="the audit log" of={heads}>
        {(value) => <Heads {...value} />}
      </Show>
    </Panel>
  );
}
