import { ServiceHttpError } from "turnpike/http";
import { openEventStream, parseCursor } from "../../events/index.ts";
import { adminRoutes } from "../../admin-contract/index.ts";
import { invalid, notFound, type AdminServices, type AdminStreams } from "./admin-services.ts";

/** Following what happens in a tenant. */
export function eventStreams({ live, stores: { tenants } }: AdminServices): AdminStreams {
  return {
    async followEvents({ namespaceId, cursor }, operator, { lastEventId, isStillAdmitted, signal }) {
      // A browser that reconnects sends the id of its last event, together with the cursor of its first request.
      const given = lastEventId ?? cursor;
      const from = given === undefined ? undefined : parseCursor(given);
      if (given !== undefined && from === undefined)
        throw invalid("/cursor: expected the id of an event of this stream, such as 0.123. Leave it out to begin now.");
      if (await tenants.isDeleted(namespaceId)) throw notFound("tenant of this name: it was deleted");
      const reader = await live.open({
        namespaceId,
        credentialId: operator.id,
        // An operator who may not read the audit log and the turns gets no events about them.
        isAuditTold: mayReadAuditLog.includes(operator.role),
        from,
        isStillAdmitted: async () => (await isStillAdmitted()) && !(await tenants.isDeleted(namespaceId)),
      });
      if (reader === "full")
        throw new ServiceHttpError(
          429,
          "rate_limited",
          "Too many streams of this credential are open: close one first.",
          { headers: { "retry-after": "10" } },
        );
      if (reader === "ahead")
        throw invalid(
          "/cursor: the audit log does not go that far; was it restored? Leave the cursor out to begin now.",
        );
      return openEventStream(reader, signal);
    },
  };
}

const mayReadAuditLog: readonly string[] = adminRoutes.listAudit.roles;
