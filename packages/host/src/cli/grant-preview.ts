import type { Command } from "commander";
import type { Grant } from "turnpike/contracts";
import { isOpening, nameText, principalText, requestText, whoText } from "../display/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { openingCode, type OperatorFlags, type Show } from "./connection.ts";
import { regionsText } from "./grant-diff.ts";
import { type Column, oneLine, renderTable } from "./table.ts";

type Preview = AdminOutput<"previewGrant">;
type Verdict = Preview["changed"][number]["before"];

/** Adds the flag with which a change of grants is only previewed. */
export function withPreview(command: Command): Command {
  return command.option(
    "--preview",
    "change nothing, and print what that opens and closes for all requests, and which of the last 1,000 decisions would change",
  );
}

/** Prints what a change of grants would do. Throws when it could not be made. */
export async function showPreview(
  flags: OperatorFlags & { tenant: string },
  change: { draft: object } | { derive: object } | { revoke: string },
  show: Show,
): Promise<void> {
  const preview = await requestAdmin(flags, "previewGrant", { namespaceId: flags.tenant, ...change });
  const { problem } = preview;
  const exitCode = preview.regions !== undefined && isOpening(preview.regions) ? openingCode : 0;
  if (problem === undefined || flags.json === true) show(flags, preview, previewText(preview), exitCode);
  if (problem !== undefined) throw new Error(oneLine(`This could not be done: ${problem}`));
}

function previewText({ descendants, hasMore, regions, ...decisions }: Preview): string {
  const all = regions === undefined ? [] : [regionsText(regions)];
  return ["Nothing was changed.", ...derivedText(descendants, hasMore), ...all, decisionsText(decisions)].join("\n\n");
}

/** Which of the last decisions a change of grants would change. */
export function decisionsText({ looked, since, changed }: Pick<Preview, "looked" | "since" | "changed">): string {
  const decisions = oneLine(`Of ${looked} ${looked === 1 ? "decision" : "decisions"} since ${since}`);
  const table = renderTable(changedColumns, changed);
  const changes =
    changed.length === 0 ? `${decisions}, none would change.` : `${decisions}, these would change:\n${table}`;
  return since === undefined ? "There is no decision in the audit log that could change." : changes;
}

const changedColumns: readonly Column<Preview["changed"][number]>[] = [
  { heading: "NOW", value: ({ before }) => verdictText(before), shrinks: 1 },
  { heading: "THEN", value: ({ after }) => verdictText(after), shrinks: 1 },
  { heading: "TIMES", value: ({ count }) => String(count) },
  { heading: "ACTOR", value: ({ actor }) => principalText(actor), shrinks: 2 },
  {
    heading: "ACT",
    value: ({ actor, authority = actor, owner, purpose, action, resource }) =>
      `${requestText({ action, resource: { ...resource, owner } })}, on grants of ${whoText(authority)}, for ${nameText(purpose)}`,
    shrinks: 3,
  },
];

function derivedText(descendants: readonly Grant[], hasMore: boolean | undefined): string[] {
  if (descendants.length === 0) return [];
  return [`These grants were derived from it and would be invalid:${descendantLines(descendants, hasMore)}`];
}

/** One line for each grant that was derived from another. */
export function descendantLines(descendants: readonly Grant[], hasMore: boolean | undefined): string {
  const lines = descendants.map(({ id, subject }) => `\n  ${oneLine(`${nameText(id)} of ${whoText(subject)}`)}`);
  return lines.join("") + (hasMore === true ? "\n  and others" : "");
}

function verdictText({ allowed, reasonCode }: Verdict): string {
  return allowed ? "allowed" : `denied (${reasonCode})`;
}
