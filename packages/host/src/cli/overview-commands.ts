import type { Command } from "commander";
import type { AdminOutput, Found } from "../admin-contract/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";
import { type Column, renderTable } from "./table.ts";

/** `search`, `activity` and `host list`. */
export function addOverviewCommands(program: Command, show: Show): void {
  asOperator(
    program.command("activity"),
    "Show what happened in a tenant in the last hour, and what waits and runs there now.",
    "turnpike activity --tenant acme",
  )
    .requiredOption("--tenant <id>", "the tenant")
    .action(async (flags: OperatorFlags & { tenant: string }) => {
      const answer = await requestAdmin(flags, "readActivity", { namespaceId: flags.tenant });
      show(flags, answer, activityText(answer));
    });
  asOperator(
    program.command("search"),
    "Find principals, grants, turns, escalations, credentials, tools, resources and traces of a tenant by a part of their name.",
    "turnpike search notes --tenant acme",
  )
    .argument("<text>", "a name, or a part of one")
    .requiredOption("--tenant <id>", "the tenant")
    .option("--limit <number>", "how many at most", "20")
    .action(async (text: string, flags: OperatorFlags & { tenant: string; limit: string }) => {
      const answer = await requestAdmin(flags, "search", { namespaceId: flags.tenant, text, limit: flags.limit });
      show(flags, answer, foundText(answer));
    });
  const hosts = program.command("host").description("List the hosts that run.").exitOverride();
  asOperator(hosts.command("list"), "List the hosts that run on this database.", "turnpike host list").action(
    async (flags: OperatorFlags) => {
      const answer = await requestAdmin(flags, "listHosts", {});
      const table = renderTable(hostColumns, answer.hosts);
      const database = answer.database === "postgresql" ? "PostgreSQL" : "an embedded database";
      show(flags, answer, `${table}\nVersion ${answer.version}, on ${database}.`);
    },
  );
}

const foundColumns: readonly Column<Found>[] = [
  { heading: "KIND", value: ({ kind }) => kind },
  { heading: "NAME", value: ({ id }) => id, shrinks: 1 },
  { heading: "ABOUT", value: ({ about = "" }) => about, shrinks: 1 },
];

function foundText({ found, isPartial = false }: AdminOutput<"search">): string {
  const table = found.length === 0 ? "Nothing is named so." : renderTable(foundColumns, found);
  return isPartial ? `${table}\nThere is more than was searched: give more of the name.` : table;
}

type Activity = AdminOutput<"readActivity">;

const hostColumns: readonly Column<AdminOutput<"listHosts">["hosts"][number]>[] = [
  { heading: "HOST", value: ({ id }) => String(id) },
  { heading: "STARTED", value: ({ startedAt }) => startedAt },
  { heading: "TURNS", value: ({ turns }) => String(turns) },
  { heading: "ANSWERS", value: ({ isThis }) => (isThis ? "this one" : "") },
];

const minuteColumns: readonly Column<Activity["minutes"][number]>[] = [
  { heading: "MINUTE", value: ({ at }) => at },
  { heading: "ALLOWED", value: ({ allowed }) => String(allowed) },
  { heading: "DENIED", value: ({ denied }) => String(denied) },
  { heading: "FAILED", value: ({ failed }) => String(failed) },
];

const reasonColumns: readonly Column<Activity["reasons"][number]>[] = [
  { heading: "COUNT", value: ({ count }) => String(count) },
  { heading: "REASON", value: ({ reason }) => reason, shrinks: 1 },
];

/** Only the minutes in which something happened: most have nothing to say. */
function activityText({ minutes, reasons, isPartial, waiting, turns }: Activity): string {
  const busy = minutes.filter(({ allowed, denied, failed }) => allowed + denied + failed > 0);
  const more = isPartial === true ? "\nThere was more in this hour than was counted; the newest was." : "";
  const parts = [
    `Now: ${waiting} waiting for an answer; turns: ${turns.running} running, ${turns.waiting} waiting.`,
    busy.length === 0 ? "Nothing was decided in the last hour." : `${renderTable(minuteColumns, busy)}${more}`,
    ...(reasons.length === 0 ? [] : [renderTable(reasonColumns, reasons)]),
  ];
  return parts.join("\n\n");
}
