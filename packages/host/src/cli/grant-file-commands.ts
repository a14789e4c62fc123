import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import type { AuditEvent } from "turnpike/contracts";
import { programName } from "../shared/index.ts";
import { constraintsText, grantText, isOpening, principalText } from "../display/index.ts";
import type { AdminOutput, GrantEntry } from "../admin-contract/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { freshId } from "./caller-results.ts";
import { asOperator, openingCode, type OperatorFlags, type Show } from "./connection.ts";
import { addGrantDiff, regionsText } from "./grant-diff.ts";
import { countedGrants, readTenantGrants } from "./grant-entries.ts";
import { activeStates, differenceOf, type GrantDifference, type GrantDraft } from "./grant-difference.ts";
import {
  maxGrants,
  readGrantFile,
  readGrantText,
  toFileGrant,
  writeGrantFile,
  writeOut,
  type GrantFile,
} from "./grant-file.ts";
import { cedarFolder, exportCedar } from "./grant-cedar.ts";
import { decisionsText, descendantLines } from "./grant-preview.ts";
import { withProgress, type Report } from "./progress.ts";
import { suggestedGrants } from "./suggested-grants.ts";
import { type Column, oneLine, renderTable } from "./table.ts";

interface ApplyFlags extends OperatorFlags {
  file: string;
  tenant?: string;
  yes?: boolean;
  dryRun?: boolean;
  preview?: boolean;
}

type Applied = AdminOutput<"applyGrants">;

/** How many grants one request issues, and revokes; and how many bytes of grants it may hold. */
const [issuedAtOnce, revokedAtOnce, bytesAtOnce] = [1000, 10_000, 900_000];

/** `grant export | suggest | apply | import | diff`. */
export function addGrantFileCommands(grants: Command, show: Show): void {
  asOperator(
    grants.command("export"),
    "Write the active grants of a tenant as a file that can be reviewed and applied.",
    "turnpike grant export --tenant acme -o acme-grants.json",
  )
    .requiredOption("--tenant <id>", "the tenant they are good in")
    .option("-o, --out <file>", "the file, which is replaced when it is there; standard output unless given")
    .option("--cedar", "write policies of Cedar with a schema and entities, into the folder that --out names")
    .action(async (flags: OperatorFlags & { tenant: string; out?: string; cedar?: boolean }) => {
      const { tenant, out } = flags;
      const folder = flags.cedar === true ? cedarFolder(out) : undefined;
      const entries = await withProgress("Reading grants", (report) => readTenantGrants(flags, tenant, report), flags);
      if (folder !== undefined) return exportCedar(flags, folder, exportedOf(entries), show);
      const file = { tenant, grants: exportedOf(entries).map(toFileGrant) };
      if (file.grants.length > maxGrants)
        throw new Error(`${oneLine(tenant)} has more than ${maxGrants} active grants, which no file may hold.`);
      if (out === undefined) return void process.stdout.write(writeGrantFile(file));
      writeOut(out, writeGrantFile(file));
      const count = file.grants.length;
      show(
        flags,
        { file: out, tenant, grants: count },
        `Wrote ${countedGrants(count)} of ${oneLine(tenant)} to ${out}.`,
      );
    });
  asOperator(
    grants.command("suggest"),
    "Write the active grants of a tenant, and those that its shadowed acts lacked, as a file to review and apply.",
    "turnpike grant suggest --from-shadow --tenant acme --out acme-grants.json",
  )
    .requiredOption("--from-shadow", "from acts that were only shadowed, which the audit log has")
    .requiredOption("--tenant <id>", "the tenant they are good in")
    .option("-o, --out <file>", "the file, which is replaced when it is there; standard output unless given")
    .action(async (flags: OperatorFlags & { tenant: string; out?: string }) => suggestFile(flags, show));
  applying(
    asOperator(
      grants.command("apply"),
      "Make the active grants of a tenant those of a file, all or nothing. Shows the difference first, and asks.",
      "turnpike grant apply -f acme-grants.json",
    ),
  ).action(async (flags: ApplyFlags) => applyFile(flags, "apply", show));
  applying(
    asOperator(
      grants.command("import"),
      "Issue the grants of a file that a tenant does not have. Revokes nothing. Shows them first, and asks.",
      "turnpike grant import -f acme-grants.json --tenant acme-test",
    ),
  ).action(async (flags: ApplyFlags) => applyFile(flags, "import", show));
  addGrantDiff(grants, show);
}

function applying(command: Command): Command {
  return command
    .requiredOption("-f, --file <file>", "the file, as `grant export` writes it; - reads standard input")
    .option("--tenant <id>", "the tenant to change; the one that the file names unless given")
    .option("--yes", "do it without asking; needed where no person can be asked")
    .option("--dry-run", "show the difference and change nothing")
    .option("--preview", "the same, and print which of the last 1,000 decisions would change");
}

async function applyFile(flags: ApplyFlags, verb: "apply" | "import", show: Show): Promise<void> {
  const file = readGrantFile(flags.file, readGrantText("--file", flags.file));
  const tenant = flags.tenant ?? file.tenant;
  // The state is asked for before the grants are read: what changes meanwhile is found out when this is applied.
  const { state } = await requestAdmin(flags, "applyGrants", { namespaceId: tenant, dryRun: true });
  const entries = await withProgress("Reading grants", (report) => readTenantGrants(flags, tenant, report), flags);
  const found = differenceOf(file.grants, entries, { now: new Date().toISOString(), makeId: () => freshId("grant") });
  const difference = verb === "import" ? { ...found, revoke: [] } : found;
  const steps = stepsOf(difference);
  if (verb === "apply" && steps.length > 1) throw new Error(tooMuch(difference, file));
  const isDry = flags.dryRun === true || flags.preview === true;
  const checked = await checkChange(flags, { tenant, state, difference: steps.length > 1 ? undefined : difference });
  const regions = checked?.regions;
  const exitCode = isDry && regions !== undefined && isOpening(regions) ? openingCode : 0;
  const facts = { tenant, ...difference, descendants: checked?.descendants ?? [], preview: checked?.preview, regions };
  const isSame = difference.issue.length + difference.revoke.length === 0;
  const text = differenceText(tenant, difference, checked);
  if (flags.json !== true) show(flags, facts, text, exitCode);
  const isAgreed = !isSame && !isDry && (flags.yes === true || (await askPerson(flags, tenant)));
  if (isAgreed)
    await withProgress(`Changing ${oneLine(tenant)}`, (report) => send(flags, { tenant, state, steps }, report), flags);
  if (flags.json === true) show(flags, { ...facts, isApplied: isAgreed }, "", exitCode);
  else if (isAgreed) show(flags, facts, doneText(difference));
  if (!isSame && !isDry && !isAgreed)
    throw new Error("Nothing was changed. With --yes it is done without asking, with --dry-run it is only shown.");
}

async function suggestFile(flags: OperatorFlags & { tenant: string; out?: string }, show: Show): Promise<void> {
  const { tenant, out } = flags;
  const entries = await withProgress("Reading grants", (report) => readTenantGrants(flags, tenant, report), flags);
  const events = await withProgress("Reading acts", (report) => readShadowed(flags, tenant, report), flags);
  const active = exportedOf(entries).map(toFileGrant);
  const { grants, without } = suggestedGrants(events, active, () => freshId("grant"));
  const text = writeGrantFile({ tenant, grants: [...active, ...grants] });
  for (const act of without) process.stderr.write(`${oneLine(`Nothing is suggested for ${act}.`)}\n`);
  if (out === undefined) return void process.stdout.write(text);
  writeOut(out, text);
  const facts = { file: out, tenant, grants: active.length, suggested: grants.length };
  show(
    flags,
    facts,
    `Wrote ${countedGrants(active.length)} of ${oneLine(tenant)} and ${grants.length} suggested to ${out}.`,
  );
}

/** The decisions about acts that were only shadowed, page by page. */
async function readShadowed(flags: OperatorFlags, namespaceId: string, report: Report): Promise<AuditEvent[]> {
  const found: AuditEvent[] = [];
  let cursor: string | undefined;
  do {
    const query = { namespaceId, outcome: "shadow", limit: 500, cursor };
    const page = await requestList(flags, "listAudit", "events", query);
    found.push(...page.events.map(({ event }) => event));
    report(`${found.length} acts`);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

/** The active grants, and those above them, which they name as their parents. */
function exportedOf(entries: readonly GrantEntry[]) {
  const byId = new Map(entries.map(({ grant }) => [grant.id, grant]));
  const chosen = new Set<GrantEntry["grant"]>();
  for (const { grant, state } of entries) {
    if (!activeStates.has(state)) continue;
    for (let one: typeof grant | undefined = grant; one !== undefined && !chosen.has(one);) {
      chosen.add(one);
      one = one.parentId === undefined ? undefined : byId.get(one.parentId);
    }
  }
  return [...chosen];
}

interface Step {
  issue: GrantDraft[];
  revoke: string[];
}

/** The requests of a change: one, unless it is too large for one. */
function stepsOf({ issue, revoke }: GrantDifference): Step[] {
  const steps: Step[] = [{ issue: [], revoke: [] }];
  let bytes = 0;
  for (const draft of issue) {
    const size = Buffer.byteLength(JSON.stringify(draft));
    if ((steps.at(-1)?.issue.length ?? 0) >= issuedAtOnce || bytes + size > bytesAtOnce) {
      steps.push({ issue: [], revoke: [] });
      bytes = 0;
    }
    bytes += size;
    steps.at(-1)?.issue.push(draft);
  }
  for (const { id } of revoke) {
    if ((steps.at(-1)?.revoke.length ?? 0) >= revokedAtOnce) steps.push({ issue: [], revoke: [] });
    steps.at(-1)?.revoke.push(id);
  }
  return steps;
}

function tooMuch({ issue, revoke }: GrantDifference, { tenant }: GrantFile): string {
  const most = `at most ${issuedAtOnce} grants of ${bytesAtOnce} bytes together are issued, and ${revokedAtOnce} revoked, as one change`;
  return `Nothing was changed: this would issue ${issue.length} and revoke ${revoke.length} grants of ${oneLine(tenant)}, and ${most}. \`${programName()} grant import\` with this file issues them in steps; then apply it.`;
}

/** Has the host check a change that it makes as a whole. One that goes in steps is checked step by step. */
async function checkChange(
  flags: ApplyFlags,
  {
    tenant: namespaceId,
    state,
    difference,
  }: { tenant: string; state: string; difference: GrantDifference | undefined },
): Promise<Applied | undefined> {
  if (difference === undefined) return undefined;
  const { issue, revoke } = difference;
  const preview = flags.preview === true;
  const change = { issue, revoke: revoke.map(({ id }) => id) };
  return requestAdmin(flags, "applyGrants", { namespaceId, state, ...change, dryRun: true, preview });
}

async function send(
  flags: ApplyFlags,
  { tenant: namespaceId, state: first, steps }: { tenant: string; state: string; steps: readonly Step[] },
  report: Report,
): Promise<void> {
  let state = first;
  let done = 0;
  for (const step of steps) {
    try {
      ({ state } = await requestAdmin(flags, "applyGrants", { namespaceId, state, ...step }));
    } catch (error) {
      if (done === 0 || !(error instanceof Error)) throw error;
      throw new Error(`${countedGrants(done)} issued, then: ${error.message}\nImport the file again to go on.`, {
        cause: error,
      });
    }
    done += step.issue.length;
    report(`${done} issued`);
  }
}

/** Whether the person at the terminal agrees; false where there is none. */
async function askPerson({ json }: ApplyFlags, tenant: string): Promise<boolean> {
  if (json === true || !process.stdin.isTTY || !process.stderr.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`\nChange ${oneLine(tenant)} like this? [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/** A person must see all that they agree to: what a grant allows is never cut here. */
const changeColumns: readonly Column<{ change: string } & GrantDraft>[] = [
  { heading: "CHANGE", value: ({ change }) => change },
  { heading: "ID", value: ({ id }) => id },
  { heading: "TO", value: ({ subject }) => principalText(subject) },
  { heading: "FROM", value: ({ issuer }) => principalText(issuer) },
  { heading: "MAY", value: grantText },
  { heading: "TERMS", value: ({ constraints }) => constraintsText(constraints) },
  { heading: "PARENT", value: ({ parentId = "" }) => parentId },
];

function differenceText(
  tenant: string,
  { issue, revoke, unchanged, expired }: GrantDifference,
  checked: Applied | undefined,
): string {
  const rows = [
    ...issue.map((draft) => ({ change: "issue", ...draft })),
    ...revoke.map((grant) => ({ change: "revoke", ...grant })),
  ];
  const counts = `${issue.length} to issue, ${revoke.length} to revoke, ${unchanged} unchanged.`;
  const derived = descendantLines(checked?.descendants ?? [], checked?.hasMore);
  return [
    oneLine(`${tenant}: ${rows.length === 0 ? `nothing to change, ${unchanged} unchanged.` : counts}`),
    ...(rows.length === 0 ? [] : [renderTable(changeColumns, rows)]),
    ...(expired.length === 0 ? [] : [oneLine(`Left out, because they have expired: ${expired.join(", ")}`)]),
    ...(derived === "" ? [] : [`These grants were derived from revoked ones and would be invalid:${derived}`]),
    ...(checked?.regions === undefined ? [] : [regionsText(checked.regions)]),
    ...(checked?.preview === undefined ? [] : [decisionsText(checked.preview)]),
  ].join("\n\n");
}

function doneText({ issue, revoke }: GrantDifference): string {
  return `Done: ${issue.length} issued, ${revoke.length} revoked.`;
}
