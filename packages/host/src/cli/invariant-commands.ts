import type { Command } from "commander";
import { describeIssues } from "turnpike/contracts";
import { type AdminOutput, type InvariantRecord, InvariantSchema } from "../admin-contract/index.ts";
import { ruleText, violationText } from "../display/index.ts";
import { ConfigError, inFile, parsePlaced } from "../shared/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, openingCode, type OperatorFlags, type Show } from "./connection.ts";
import { readGrantText } from "./grant-file.ts";
import { type Column, oneLine, renderTable } from "./table.ts";

interface AddFlags extends OperatorFlags {
  file: string;
  tenant?: string;
  reportOnly?: boolean;
}

type TenantFlags = OperatorFlags & { tenant?: string };
type Violations = AdminOutput<"checkInvariants">;

/** `invariant add | list | remove | check`. */
export function addInvariantCommands(program: Command, show: Show): void {
  const invariants = program
    .command("invariant")
    .description("Set rules that no write of grants may break.")
    .exitOverride();
  asOperator(
    invariants.command("add"),
    "Add a rule about grants. It is refused while grants break it.",
    "turnpike invariant add --file no-agents.json --tenant acme",
  )
    .requiredOption("-f, --file <file>", "the rule, as JSON; - is standard input")
    .option(
      "--tenant <id>",
      "the tenant; the one that the file names unless given, and every tenant when it names none",
    )
    .option("--report-only", "refuse nothing, and show what breaks it with `invariant check`")
    .action(async (flags: AddFlags) => {
      const { tenant, reportOnly } = flags;
      const rule = readRule(flags.file);
      const input = {
        ...rule,
        ...(tenant !== undefined && { namespaceId: tenant }),
        ...(reportOnly === true && { reportOnly }),
      };
      const answer = await requestAdmin(flags, "addInvariant", input);
      const added = oneLine(`Added ${answer.invariant.id}: ${ruleText(answer.invariant)}.`);
      const broken = answer.violations.length === 0 ? "" : `\nIt is broken already:\n${violationLines(answer)}`;
      show(flags, answer, `${added}${broken}`);
    });
  asOperator(invariants.command("list"), "List the rules about grants.", "turnpike invariant list --tenant acme")
    .option("--tenant <id>", "only those that hold in this tenant; all that you may see unless given")
    .action(async (flags: TenantFlags) => {
      const answer = await requestAdmin(flags, "listInvariants", { namespaceId: flags.tenant });
      const { invariants: rules } = answer;
      show(flags, answer, rules.length === 0 ? "There are no rules about grants." : renderTable(columns, rules));
    });
  asOperator(
    invariants.command("remove"),
    "Remove a rule about grants.",
    "turnpike invariant remove no-agents --tenant acme",
  )
    .argument("<id>", "the rule's id")
    .option("--tenant <id>", "the tenant that it is about; every tenant unless given")
    .action(async (id: string, flags: TenantFlags) => {
      const answer = await requestAdmin(flags, "removeInvariant", { namespaceId: flags.tenant, id });
      show(flags, answer, oneLine(`Removed ${answer.removed}.`));
    });
  asOperator(
    invariants.command("check"),
    "Check all grants against the rules about them. Exits with 3 when one is broken.",
    "turnpike invariant check --tenant acme",
  )
    .option("--tenant <id>", "only the grants of this tenant; of all that you may see unless given")
    .action(async (flags: TenantFlags) => {
      const answer = await requestAdmin(flags, "checkInvariants", { namespaceId: flags.tenant });
      const isBroken = answer.violations.length > 0;
      show(flags, answer, isBroken ? violationLines(answer) : "No rule is broken.", isBroken ? openingCode : 0);
    });
}

function readRule(file: string): InvariantRecord {
  const { value, placeOf } = parsePlaced(file, readGrantText("--file", file));
  const checked = InvariantSchema.safeParse(value);
  if (checked.success) return checked.data;
  const { issues } = checked.error;
  throw new ConfigError(`${inFile(file, placeOf(issues[0]?.path ?? []))}: ${oneLine(describeIssues(issues))}`);
}

function violationLines({ violations, more }: Violations): string {
  const lines = violations.map((violation) => oneLine(violationText(violation)));
  return [...lines, ...(more === true ? ["There is more than this."] : [])].join("\n");
}

const columns: readonly Column<InvariantRecord>[] = [
  { heading: "ID", value: ({ id }) => id },
  { heading: "TENANT", value: ({ namespaceId }) => namespaceId ?? "every tenant" },
  { heading: "RULE", value: (rule) => ruleText(rule), shrinks: 1 },
  { heading: "REFUSES", value: ({ reportOnly }) => (reportOnly === true ? "nothing" : "writes") },
];
