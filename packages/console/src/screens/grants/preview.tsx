import { useState } from "preact/hooks";
import type { AdminOutput } from "turnpike-host/admin-contract";
import { request } from "../../shared/api.ts";
import { type Loaded, useLoad } from "../../shared/load.ts";
import { instantText } from "../../shared/instants.ts";
import { place } from "../../shared/place.ts";
import { useSettled } from "../../shared/settled.ts";
import { comparisonLines, count, principalText, requestText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Show } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { whyAddress } from "../why-address.ts";
import type { changeOf } from "./draft.ts";
import { GrantList } from "./grant-facts.tsx";

type PreviewAnswer = AdminOutput<"previewGrant">;
type Changed = PreviewAnswer["changed"][number];

/** What to try: a draft of a grant, one that is derived, or the revocation of one. */
export type Change = ReturnType<typeof changeOf> | { revoke: string };

/** Compares a change with the last decisions, and does so again when the change is another one. */
export function usePreview(change: Change): Loaded<PreviewAnswer> {
  const { tenant = "" } = place.value;
  // The instant at which a draft is made is no part of what was typed.
  const key = useSettled(JSON.stringify("draft" in change ? { ...change.draft, issuedAt: "" } : change));
  return useLoad((signal) => request("previewGrant", { namespaceId: tenant, ...change }, signal), [tenant, key]);
}

/** Whether the preview is still being read. A button below it is shown only after that, so that it does not move under the pointer. */
export function isUnread({ value, problem }: Loaded<PreviewAnswer>): boolean {
  return value === undefined && problem === undefined;
}

/** What a change would do, before it is done. */
export function Preview({ change }: { change: Change }) {
  return <PreviewShown preview={usePreview(change)} isRevocation={"revoke" in change} />;
}

/** A preview that another component loads and waits for. */
export function PreviewShown({ preview, isRevocation }: { preview: Loaded<PreviewAnswer>; isRevocation: boolean }) {
  return (
    <div class="preview" aria-busy={preview.isLoading}>
      <Show what="The preview" of={preview}>
        {(answer) =>
          answer.problem === undefined ? (
            <>
              {isRevocation && <Falling answer={answer} />}
              <AllRequests answer={answer} />
              <Decisions answer={answer} />
            </>
          ) : (
            <p class="note wait" role="status">
              It could not be issued like this: <ForeignText text={answer.problem} />
            </p>
          )
        }
      </Show>
    </div>
  );
}

/** The grants that a revocation takes with it. */
function Falling({ answer: { descendants, hasMore } }: { answer: PreviewAnswer }) {
  if (descendants.length === 0) return <p>No other grant was derived from it: it falls alone.</p>;
  return (
    <>
      <p>
        <strong>
          {descendants.length}
          {hasMore === true ? " and more" : ""} {descendants.length === 1 ? "grant falls" : "grants fall"} with it
        </strong>
        , derived from it directly or further down:
      </p>
      <GrantList of={descendants.map((grant) => ({ grant }))} />
    </>
  );
}

/** What opens, closes and changes for all requests. Lines under a heading are indented. */
function AllRequests({ answer: { regions } }: { answer: PreviewAnswer }) {
  const [shown, setShown] = useState(24);
  if (regions === undefined) return undefined;
  const lines = comparisonLines(regions, { at: regions.at, instant: instantText });
  return (
    <>
      {lines.slice(0, shown).map((line) => (
        <p key={line} class={line.startsWith(" ") ? "region" : ""}>
          <ForeignText text={line.trim()} />
        </p>
      ))}
      {lines.length > shown && (
        <button type="button" class="button more" onClick={() => setShown(shown + 100)}>
          Show more of {lines.length}
        </button>
      )}
    </>
  );
}

/** The last decisions that would change. */
function Decisions({ answer: { looked, since, changed } }: { answer: PreviewAnswer }) {
  const [shown, setShown] = useState(12);
  if (looked === 0) return <p>The audit log has no decisions yet to compare it with.</p>;
  const past = `the last ${count(looked, "decision")}${since === undefined ? "" : `, since ${instantText(since)}`}`;
  return (
    <>
      <p>
        <strong>
          {changed.length === 0 ? "Nothing changes" : `${sumOf(changed).toLocaleString()} would be decided differently`}
        </strong>{" "}
        in {past}.
      </p>
      {changed.length > 0 && <Shares changed={changed} />}
      {changed.length > 0 && (
        <Table
          label="Decisions that would change"
          rows={changed.slice(0, shown)}
          keyOf={(row) => JSON.stringify([row.at, row.traceId, row.actor, row.action, row.resource, row.purpose])}
          columns={[
            { title: "Who", cell: ({ actor }) => principalText(actor) },
            {
              title: "Act",
              kind: "code",
              cell: ({ action, resource, owner }) => requestText({ action, resource: { ...resource, owner } }),
            },
            { title: "For", isMinor: true, cell: ({ purpose }) => purpose },
            { title: "Times", kind: "number", cell: (row) => row.count },
            { title: "Last", isMinor: true, cell: ({ at }) => <Time at={at} /> },
            { title: "Would be", cell: (row) => <Turn change={row} /> },
          ]}
        />
      )}
      {changed.length > shown && (
        <button type="button" class="button more" onClick={() => setShown(shown + 50)}>
          Show more of {changed.length}
        </button>
      )}
    </>
  );
}

function sumOf(changed: readonly Changed[]): number {
  return changed.reduce((sum, row) => sum + row.count, 0);
}

/** How a decision turns, and the way to its explanation. */
function Turn({ change: { before, after, resource, ...act } }: { change: Changed }) {
  return (
    <span class="turn-over">
      <StateTag state={wordOf(before)} />
      <span aria-hidden="true">→</span>
      <span class="hidden">becomes</span>
      <StateTag state={wordOf(after)} />
      <Link to={whyAddress({ ...act, traceId: undefined, resource, owner: resource.owner })}>Why</Link>
    </span>
  );
}

function wordOf({ allowed, reasonCode }: Changed["before"]): string {
  if (allowed) return "allowed";
  return reasonCode === "approval_required" ? "waiting" : "denied";
}

/** What the decisions that change would become. */
function Shares({ changed }: { changed: readonly Changed[] }) {
  return (
    <p class="shares hint">
      {[...new Set(changed.map(({ after }) => wordOf(after)))].map((word) => (
        <span key={word}>
          {sumOf(changed.filter(({ after }) => wordOf(after) === word)).toLocaleString()} become{" "}
          <StateTag state={word} />
        </span>
      ))}
    </p>
  );
}
