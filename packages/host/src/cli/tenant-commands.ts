import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { ConfigError } from "../shared/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { withProgress } from "./progress.ts";
import { type Column, oneLine, renderTable, withMore } from "./table.ts";

const pollMs = 200;

/** `tenant list | delete`. */
export function addTenantCommands(program: Command, show: Show): void {
  const tenants = program.command("tenant").description("List and delete tenants.").exitOverride();
  withPageFlags(
    asOperator(
      tenants.command("list"),
      "List the tenants that have a credential, a grant or an audit log, and how many escalations wait in each.",
      "turnpike tenant list",
    ),
  ).action(async (flags: OperatorFlags & PageFlags) => {
    const { limit, cursor } = flags;
    const answer = await requestList(flags, "listTenants", "tenants", { limit, cursor });
    const table = answer.tenants.length === 0 ? "There are no tenants." : renderTable(tenantColumns, answer.tenants);
    show(flags, answer, withMore(table, answer.cursor));
  });
  asOperator(
    tenants.command("delete"),
    "Delete a tenant: refuse its calls at once, and remove everything but what its audit log ends with.",
    "turnpike tenant delete acme --confirm acme",
  )
    .argument("<tenant>", "the tenant")
    .requiredOption("--confirm <tenant>", "its name once more, because nothing brings it back")
    .action(async (namespaceId: string, flags: OperatorFlags & { confirm: string }) => {
      const { confirm } = flags;
      if (confirm !== namespaceId)
        throw new ConfigError(`--confirm ${confirm}: expected ${namespaceId}, the tenant that is to be deleted.`);
      const answer = await withProgress(`Deleting ${oneLine(namespaceId)}`, () => deleteAll(flags, namespaceId), flags);
      show(flags, answer, `Deleted ${namespaceId}. Its audit log is with the exports of the host that removed it.`);
    });
}

const tenantColumns: readonly Column<AdminOutput<"listTenants">["tenants"][number]>[] = [
  { heading: "TENANT", value: ({ namespaceId }) => namespaceId },
  { heading: "WAITING", value: ({ waiting }) => String(waiting) },
];

/** Deletes a tenant, and waits until nothing is left of it. */
async function deleteAll(flags: OperatorFlags, namespaceId: string): Promise<AdminOutput<"deleteTenant">> {
  for (;;) {
    const answer = await requestAdmin(flags, "deleteTenant", { namespaceId, confirm: namespaceId });
    if (answer.isFinished) return answer;
    await delay(pollMs);
  }
}
