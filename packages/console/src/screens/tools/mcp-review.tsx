import { useState } from "preact/hooks";
import { showDifference, type ShownDifference } from "turnpike-host/display";
import type { McpReview } from "turnpike-host/admin-contract";
import { may, request } from "../../shared/api.ts";
import { useRead } from "../../shared/load.ts";
import { useRefresh } from "../../shared/refresh.ts";
import { ActionButton } from "../../parts/button.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Show } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { type NewTool, readNewTool } from "./new-tool.ts";

type OpenTool = McpReview["tools"][number];

/** The tools of a server that are withdrawn until an operator accepts exactly what is shown here. */
export function McpReviewPanel({ server, onAccepted }: { server: string; onAccepted(): void }) {
  const review = useRead("reviewMcpServer", { server });
  // The shown version is not replaced while the operator reads it. The host refuses to accept a version that is not current.
  const isRead = (review.value?.tools.length ?? 0) > 0;
  useRefresh(
    () => (isRead ? undefined : review.reload()),
    ({ kind }) => kind === "withdrawn",
  );
  const [said, setSaid] = useState("");
  const accept = async (shown: readonly OpenTool[]): Promise<void> => {
    // The hashes of the version on the page, also if the server has another one by now.
    const tools = shown.map(({ tool, hash }) => ({ tool, hash }));
    try {
      const { accepted } = await request("acceptMcpTools", { server, tools });
      setSaid(`Accepted: ${accepted.join(", ")}.`);
      onAccepted();
    } finally {
      review.reload();
    }
  };
  return (
    <Show what="review" of={review}>
      {({ tools }) => (
        <>
          <p role="status" class="hint">
            {said !== "" && <ForeignText text={said} />}
          </p>
          {tools.length === 0 ? (
            <p>No tool of this server is withdrawn.</p>
          ) : (
            <p>
              {tools.length === 1 ? "1 tool is" : `${tools.length} tools are`} withdrawn until an operator accepts them.
              Read them as what an agent will be told.
            </p>
          )}
          <NewTools tools={tools.filter(({ state }) => state === "new")} accept={accept} />
          {tools
            .filter(({ state }) => state === "changed")
            .map((tool) => (
              <OpenToolPanel key={`${tool.tool} ${tool.hash}`} tool={tool} accept={() => accept([tool])} />
            ))}
          {tools.length > 1 && may("acceptMcpTools") && (
            <div class="actions">
              <ActionButton act={() => accept(tools)}>Accept all {tools.length} as shown</ActionButton>
            </div>
          )}
        </>
      )}
    </Show>
  );
}

/** Tools that are not accepted yet: there is nothing to compare them with, so they are read as a table. */
function NewTools({
  tools,
  accept,
}: {
  tools: readonly OpenTool[];
  accept(tools: readonly OpenTool[]): Promise<void>;
}) {
  if (tools.length === 0) return null;
  const rows = tools.map((tool) => ({ tool, says: readNewTool(tool.differences) }));
  return (
    <Table
      label="New tools"
      rows={rows}
      keyOf={({ tool }) => `${tool.tool} ${tool.hash}`}
      columns={[
        { title: "Tool", cell: ({ tool }) => <ForeignText text={tool.tool} /> },
        { title: "Description", cell: ({ says }) => <ForeignText text={says.description} /> },
        { title: "Arguments", cell: ({ says }) => <Arguments of={says} /> },
        {
          title: "All of it",
          cell: ({ tool }) => (
            <details>
              <summary>
                Definition <code>{tool.hash.slice(0, 16)}</code>
              </summary>
              {tool.differences.map(showDifference).map((difference, index) => (
                <DifferenceView key={index} difference={difference} isNew />
              ))}
            </details>
          ),
        },
        {
          title: "Accept",
          cell: ({ tool }) =>
            may("acceptMcpTools") && <ActionButton act={() => accept([tool])}>Accept this definition</ActionButton>,
        },
      ]}
    />
  );
}

function Arguments({ of: { arguments: all } }: { of: NewTool }) {
  if (all.length === 0) return <span class="hint">none</span>;
  return (
    <ul class="row-list">
      {all.map(({ name, type, isRequired, description }) => (
        <li key={name}>
          <span>
            <code>
              <ForeignText text={name} />
            </code>{" "}
            <span class="hint">
              <ForeignText text={type} />
              {isRequired && ", required"}
            </span>{" "}
            <ForeignText text={description} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function OpenToolPanel({ tool, accept }: { tool: OpenTool; accept(): Promise<void> }) {
  const { state, acceptedAt, acceptedBy, hash, differences } = tool;
  return (
    <section class="panel">
      <h3>
        <ForeignText text={tool.tool} /> <Tag tone="bad" text={state} />
      </h3>
      <p class="hint">
        {acceptedAt !== undefined && (
          <>
            It is not what <ForeignText text={acceptedBy ?? "an operator"} /> accepted <Time at={acceptedAt} />.{" "}
          </>
        )}
        Definition <code>{hash.slice(0, 16)}</code>
      </p>
      {differences.map(showDifference).map((difference, index) => (
        <DifferenceView key={index} difference={difference} isNew={false} />
      ))}
      {may("acceptMcpTools") && (
        <div class="actions">
          <ActionButton kind="main" act={accept}>
            Accept this definition
          </ActionButton>
        </div>
      )}
    </section>
  );
}

/** Both sides beside each other, one under the other where the page is narrow. A tool that is new has one side. */
function DifferenceView({ difference, isNew }: { difference: ShownDifference; isNew: boolean }) {
  const { place, before, after, ...same } = difference;
  return (
    <figure class={isNew ? "difference one-side" : "difference"}>
      <figcaption class="code">
        <ForeignText text={place} />
      </figcaption>
      {!isNew && <Side title="Accepted" mark="−" lines={before} none="It was not there." {...same} />}
      <Side title="Now" mark="+" lines={after} none="It is there no more." {...same} />
    </figure>
  );
}

function Side({
  title,
  mark,
  lines,
  none,
  sameAbove,
  sameBelow,
}: {
  title: string;
  mark: "−" | "+";
  lines: readonly string[] | undefined;
  none: string;
  sameAbove: number;
  sameBelow: number;
}) {
  return (
    <div class={mark === "+" ? "side-after" : "side-before"}>
      <p class="hint">{title}</p>
      {lines === undefined ? (
        <p class="hint">{none}</p>
      ) : (
        <>
          <Same count={sameAbove} />
          {lines.map((line, index) => (
            <div key={index} class="diff-line">
              <span aria-hidden="true">{mark}</span>
              <ForeignText text={line} />
            </div>
          ))}
          <Same count={sameBelow} />
        </>
      )}
    </div>
  );
}

function Same({ count }: { count: number }) {
  return count === 0 ? null : <p class="hint">({count === 1 ? "1 line" : `${count} lines`} as before)</p>;
}
