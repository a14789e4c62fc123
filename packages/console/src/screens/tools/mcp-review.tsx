import { useState } from "preact/hooks";
import type { McpReview } from "turnpike-host/management";
import { may, request } from "../../base/api.ts";
import { useRead } from "../../base/load.ts";
import { ActionButton } from "../../parts/button.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Show } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { showDifference, type ShownDifference } from "./differences.ts";

type OpenTool = McpReview["tools"][number];

/** The tools of a server that are withdrawn until somebody accepts exactly what is shown here. */
export function McpReviewPanel({ server, onAccepted }: { server: string; onAccepted(): void }) {
  const review = useRead("reviewMcpServer", { server });
  const [said, setSaid] = useState("");
  const accept = async (shown: readonly OpenTool[]): Promise<void> => {
    // The hashes of what is on the page, whatever the server says by now.
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
              {tools.length === 1 ? "1 tool is" : `${tools.length} tools are`} withdrawn until somebody accepts. Read
              them as what an agent will be told.
            </p>
          )}
          {tools.map((tool) => (
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

function OpenToolPanel({ tool, accept }: { tool: OpenTool; accept(): Promise<void> }) {
  const { state, acceptedAt, acceptedBy, hash, differences } = tool;
  return (
    <section class="panel">
      <h3>
        <ForeignText text={tool.tool} /> <Tag tone={state === "new" ? "wait" : "bad"} text={state} />
      </h3>
      <p class="hint">
        {state === "changed" && acceptedAt !== undefined && (
          <>
            It is not what <ForeignText text={acceptedBy ?? "somebody"} /> accepted <Time at={acceptedAt} />.{" "}
          </>
        )}
        Definition <code>{hash.slice(0, 16)}</code>
      </p>
      {differences.map(showDifference).map((difference, index) => (
        <DifferenceView key={index} difference={difference} isNew={state === "new"} />
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
