import type { McpServer } from "turnpike-host/admin-contract";
import { type Loaded, useRead } from "../../shared/load.ts";
import { addressOf } from "../../shared/place.ts";
import { useRefresh } from "../../shared/refresh.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag, type Tone } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { McpReviewPanel } from "./mcp-review.tsx";

type Servers = Loaded<{ servers: McpServer[] }>;
type McpTool = McpServer["tools"][number];

/** The MCP servers of the host with their state; one of them with its tools and what there is to accept. */
export function McpServers({ selected }: { selected: string | undefined }) {
  const servers: Servers = useRead("listMcpServers", {});
  useRefresh(servers.reload, ({ kind }) => kind === "withdrawn");
  return (
    <Show what="MCP servers" of={servers}>
      {({ servers: all }) => {
        const one = all.find(({ server }) => server === selected);
        if (all.length === 0)
          return (
            <Empty title="No MCP server is configured.">
              The configuration of the host names them, under mcp.servers.
            </Empty>
          );
        return (
          <>
            <ul class="servers">
              {all.map((server) => (
                <li key={server.server}>
                  <ServerCard server={server} isCurrent={server.server === selected} />
                </li>
              ))}
            </ul>
            {one && <ServerPanel key={one.server} server={one} onAccepted={servers.reload} />}
            {selected !== undefined && one === undefined && (
              <Empty title="There is no MCP server of this name.">
                It may have been taken out of the configuration.
              </Empty>
            )}
          </>
        );
      }}
    </Show>
  );
}

const states: Readonly<Record<McpTool["state"], { tone: Tone; text: string }>> = {
  pinned: { tone: "good", text: "accepted" },
  changed: { tone: "bad", text: "changed" },
  new: { tone: "wait", text: "new" },
  gone: { tone: "quiet", text: "gone" },
};

function ServerCard({
  server: { server, isAvailable, seenAt, tools },
  isCurrent,
}: {
  server: McpServer;
  isCurrent: boolean;
}) {
  return (
    <Link to={addressOf(["tools", "servers", server])} class="server-card" isCurrent={isCurrent}>
      <b>{server}</b>
      <span class="ways">
        {!isAvailable && <Tag tone="bad" text="does not answer" />}
        {(Object.keys(states) as McpTool["state"][]).map((state) => {
          const count = tools.filter((tool) => tool.state === state).length;
          return count > 0 && <Tag key={state} tone={states[state].tone} text={`${count} ${states[state].text}`} />;
        })}
        {isAvailable && tools.length === 0 && <Tag text="no usable tools" />}
      </span>
      <span class="hint">
        {seenAt === undefined ? (
          "never seen"
        ) : (
          <>
            seen <Time at={seenAt} />
          </>
        )}
      </span>
    </Link>
  );
}

function ServerPanel({
  server: { server, isAvailable, tools },
  onAccepted,
}: {
  server: McpServer;
  onAccepted(): void;
}) {
  return (
    <>
      <h2>{server}</h2>
      {!isAvailable && <p class="problem">It does not answer. The log of the host says why.</p>}
      {isAvailable && tools.length === 0 && (
        <p>It has no tool that this host can use. The log of the host names those that are left out, and why.</p>
      )}
      <McpReviewPanel server={server} onAccepted={onAccepted} />
      {tools.length > 0 && (
        <Table
          label={`Tools of ${server}`}
          rows={tools}
          keyOf={({ tool }) => tool}
          columns={[
            { title: "Tool", cell: ({ tool }) => <ForeignText text={tool} /> },
            { title: "State", cell: ({ state }) => <Tag {...states[state]} /> },
            {
              title: "Accepted",
              cell: ({ acceptedAt, acceptedBy }) =>
                acceptedAt === undefined ? (
                  "never"
                ) : (
                  <span>
                    <Time at={acceptedAt} /> by <ForeignText text={acceptedBy ?? "?"} />
                  </span>
                ),
            },
            { title: "Definition", kind: "code", isMinor: true, cell: ({ hash }) => hash.slice(0, 16) },
          ]}
        />
      )}
    </>
  );
}
