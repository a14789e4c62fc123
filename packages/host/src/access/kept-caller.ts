import type { JsonObject } from "turnpike/contracts";
import type { ServiceApiCallOptions } from "turnpike/http";
import type { AuthenticationPorts, Caller } from "./authenticate.ts";
import { openRecord, recordOf } from "./request-record.ts";

/** What is kept of the caller of a turn, to know them again without their token; undefined for a call without a request. */
export function keptCaller(call: ServiceApiCallOptions | undefined): JsonObject | undefined {
  const { caller } = recordOf(call) ?? {};
  if (caller === undefined) return undefined;
  const { credential, foreign } = caller;
  return { credential, ...(foreign && { foreign }) } as unknown as JsonObject;
}

/**
 * The call options of a turn that goes on, in which its caller is who they were. A credential of this host stands as long as it
 * is valid, a token of somebody else until it ends. A turn of nobody may call nothing.
 */
export function callOfKeptCaller(
  { credentials, isDeleted }: Pick<AuthenticationPorts, "credentials" | "isDeleted">,
  kept: JsonObject | undefined,
): ServiceApiCallOptions {
  if (kept === undefined) return { host: openRecord("going-on") };
  return callAs({ credentials, isDeleted }, kept as unknown as BearerOfToken, "going-on");
}

type BearerOfToken = Pick<Caller, "credential" | "foreign">;

/** The call options of the bearer of a credential, without its token. What they do ends with the credential. */
export function callAs(
  { credentials, isDeleted }: Pick<AuthenticationPorts, "credentials" | "isDeleted">,
  { credential, foreign }: BearerOfToken,
  requestId: string,
): ServiceApiCallOptions {
  const { id, namespaceId } = credential;
  const isValid = async (now: Date): Promise<boolean> =>
    foreign === undefined ? credentials.stands(id, now) : foreign.lastsUntil > now.toISOString();
  const stands = async (now: Date): Promise<boolean> => (await isDeleted?.(namespaceId)) !== true && isValid(now);
  const caller: Caller = { credential, stands, isStillAdmitted: stands };
  return { host: { ...openRecord(requestId), caller, facts: { tenant: namespaceId, credentialId: id } } };
}
