import { programName } from "../shared/index.ts";
import type { Command } from "commander";
import type { AdminOutput } from "../admin-contract/index.ts";
import { requestAdmin, requestList } from "./admin-request.ts";
import { asOperator, withPageFlags, type OperatorFlags, type PageFlags, type Show } from "./connection.ts";
import { readChoice } from "./flags.ts";
import { type Column, oneLine, renderTable, withMore, withTenant } from "./table.ts";

interface ListFlags extends OperatorFlags, PageFlags {
  tenant?: string;
  state?: string;
}

type Delivery = AdminOutput<"listDeliveries">["deliveries"][number];

const states = ["waiting", "retrying", "delivered", "failed"];

/** `webhook list | retry`. */
export function addWebhookCommands(program: Command, show: Show): void {
  const webhooks = program
    .command("webhook")
    .description("See what webhooks were told, and tell them again.")
    .exitOverride();
  withPageFlags(
    asOperator(
      webhooks.command("list"),
      "List messages to webhooks: those that wait, then those that were delivered or given up, the newest first.",
      "turnpike webhook list --tenant acme --state failed",
    ),
  )
    .option("--tenant <id>", "only those of this tenant; of all that you may see unless given")
    .option("--state <state>", `only those that are ${states.join(", ")}`, (text) =>
      readChoice("--state", text, states),
    )
    .action(async (flags: ListFlags) => {
      const { tenant: namespaceId, state, limit, cursor } = flags;
      const answer = await requestList(flags, "listDeliveries", "deliveries", { namespaceId, state, limit, cursor });
      show(flags, answer, tableOf(answer, flags));
    });
  asOperator(
    webhooks.command("retry"),
    "Send a message at once: one that failed, was given up, or was delivered before. Its id stays the same.",
    "turnpike webhook retry msg_5f0b3c1d2e4a49d8a1c7e90b6d2f8a34 --tenant acme",
  )
    .argument("<id>", "the message's id")
    .requiredOption("--tenant <id>", "the tenant that it is about")
    .action(async (id: string, flags: OperatorFlags & { tenant: string }) => {
      const answer = await requestAdmin(flags, "retryDelivery", { namespaceId: flags.tenant, id });
      show(
        flags,
        answer,
        `${oneLine(answer.id)} is sent again when those before it are. See: ${programName()} webhook list`,
      );
    });
}

function tableOf({ deliveries, cursor }: AdminOutput<"listDeliveries">, flags: ListFlags): string {
  if (deliveries.length === 0) return "There are no messages to webhooks.";
  return withMore(
    renderTable(
      withTenant(flags, ({ namespaceId }) => namespaceId, columns),
      deliveries,
    ),
    cursor,
  );
}

const columns: readonly Column<Delivery>[] = [
  { heading: "ID", value: ({ id }) => id },
  { heading: "STATE", value: ({ state }) => state },
  { heading: "EVENT", value: ({ type }) => type, shrinks: 1 },
  { heading: "TO", value: ({ webhook }) => webhook?.url ?? "not configured any more", shrinks: 2 },
  { heading: "MADE", value: ({ createdAt }) => createdAt },
  { heading: "TRIED", value: ({ attempts }) => String(attempts) },
  { heading: "NEXT, OR OVER", value: ({ nextAttemptAt, finishedAt }) => nextAttemptAt ?? finishedAt ?? "" },
  { heading: "WHY NOT", value: ({ lastError }) => lastError ?? "", shrinks: 1 },
];
