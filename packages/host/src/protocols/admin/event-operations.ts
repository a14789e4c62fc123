import { ServiceHttpError } from "turnpike/http";
import { openEventStream, parseCursor } from "../../live/index.ts";
import { adminRoutes } from "../../management/index.ts";
import { invalid, notFound, type AdminServices, type AdminStreams } from "./admin-services.ts";

/** Following what happens in a tenant. */
export function eventStreams({ live, stores: { tenants } }: AdminServices): AdminStreams {
  return {
    async followEvents({ namespaceId, cursor }, operator, { lastEventId, stands, signal }) {
      // A browser that comes back names the event it had last, and asks for the address that it asked for before.
      const given = lastEventId ?? cursor;
      const from = given === undefined ? undefined : parseCursor(given);
      if (given !== undefined && from === undefined)
        throw invalid("/cursor: expected the id of an event of this stream, such as 0.123. Leave it out to begin now.");
      if (await tenants.isDeleted(namespaceId)) throw notFound("tenant of this name: it was deleted");
      const reader = await live.open({
        namespaceId,
        credentialId: operator.id,
        // Whoever may not read the trail and the turns is told of neither.
        isTrailTold: mayReadTrail.includes(operator.role),
        from,
        stands: async () => (await stands()) && !(await tenants.isDeleted(namespaceId)),
      });
      if (reader === "full")
        throw new ServiceHttpError(
          429,
          "rate_limited",
          "Too many streams of this credential are open: close one first.",
          { headers: { "retry-after": "10" } },
        );
      if (reader === "ahead")
        throw invalid("/cursor: the trail does not go that far; was it restored? Leave the cursor out to begin now.");
      return openEventStream(reader, signal);
    },
  };
}

const mayReadTrail: readonly string[] = adminRoutes.listAudit.roles;
