import type { AdminInput } from "../../admin-contract/index.ts";
import type { DeliveryPlace } from "../../webhooks/index.ts";
import { acrossTenants } from "./across-tenants.ts";
import { conflict, invalid, notFound, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Listing the messages to webhooks, and sending them again. */
export function webhookOperations(services: AdminServices): AdminOperations<"listDeliveries" | "retryDelivery"> {
  const { clock, stores } = services;
  const { deliveries } = stores;
  return {
    listDeliveries: acrossTenants(
      services,
      "deliveries",
      async (input: AdminInput<"listDeliveries"> & { namespaceId: string }) => {
        const { namespaceId, state, cursor, limit } = input;
        const behind = cursor === undefined ? undefined : placeOf(cursor);
        const { items, next } = await paginate(
          limit,
          (most) => deliveries.list(namespaceId, { state, behind, limit: most }),
          ({ place: { table, id } }) => `${table}.${id}`,
        );
        return { deliveries: items.map(({ place: _place, ...delivery }) => delivery), ...next };
      },
    ),
    retryDelivery({ namespaceId, id }, operator) {
      const change = { namespaceId, action: "webhook.retry", metadata: { message: id } };
      return operator.change(change, async () => {
        const state = await deliveries.retry(namespaceId, id, clock());
        if (state === "unknown") throw notFound("message of this id to a webhook in this tenant");
        if (state === "not configured")
          throw conflict("Its webhook is not configured any more: put it into notify.webhooks again, and restart.");
        if (state === "gone")
          throw conflict("Its receiver answered that it is gone: nothing is sent there until a restart.");
        return { id };
      });
    },
  };
}

function placeOf(cursor: string): DeliveryPlace {
  const [, table, id] = /^(outbox|webhook_history)\.(\d{1,15})$/.exec(cursor) ?? [];
  if (id === undefined) throw invalid("/cursor: expected the cursor of the page before.");
  return { table: table as DeliveryPlace["table"], id: Number(id) };
}
