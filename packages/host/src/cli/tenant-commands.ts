import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { ConfigError } from "../base/index.ts";
import { requestAdmin } from "./admin-request.ts";
import { asOperator, type OperatorFlags, type Show } from "./connection.ts";

const lookMs = 200;

/** `tenant delete`. */
export function addTenantCommands(program: Command, show: Show): void {
  const tenants = program.command("tenant").description("Delete tenants.").exitOverride();
  asOperator(
    tenants.command("delete"),
    "Delete a tenant: refuse its calls at once, and remove everything but what its audit trail ends with.",
    "turnpike tenant delete acme --confirm acme",
  )
    .argument("<tenant>", "the tenant")
    .requiredOption("--confirm <tenant>", "its name once more, because nothing brings it back")
    .action(async (namespaceId: string, flags: OperatorFlags & { confirm: string }) => {
      const { confirm } = flags;
      if (confirm !== namespaceId)
        throw new ConfigError(`--confirm ${confirm}: expected ${namespaceId}, the tenant that is to be deleted.`);
      let answer = await requestAdmin(flags, "deleteTenant", { namespaceId, confirm });
      while (!answer.isFinished) {
        await delay(lookMs);
        answer = await requestAdmin(flags, "deleteTenant", { namespaceId, confirm });
      }
      show(flags, answer, `Deleted ${namespaceId}. Its audit trail is with the exports of the host that removed it.`);
    });
}
