import type { JsonObject } from "turnpike/contracts";
import type { ServiceApiCallOptions } from "turnpike/http";
import type { AuthenticationPorts, Caller } from "./authenticate.ts";
import { openRecord, recordOf } from "./request-record.ts";

/** What is stored of the caller of a turn, to identify them later without their token; undefined for a call without a request. */
export function storedCaller(call: ServiceApiCallOptions | undefined): JsonObject | undefined {
  const { caller } = recordOf(call) ?? {};
  if (caller === undefined) return undefined;
  const { credential, foreign } = caller;
  return { credential, ...(foreign && { foreign }) } as unknown as JsonObject;
}

/**
 * The call options of a turn that is resumed, with the caller who started it. A credential of this host counts as long as it
 * is valid, a token of an identity provider until it expires. A turn without a caller may call nothing.
 */
export function callOfStoredCaller(
  { credentials, isDeleted }: Pick<AuthenticationPorts, "credentials" | "isDeleted">,
  stored: JsonObject | undefined,
): ServiceApiCallOptions {
  if (stored === undefined) return { host: openRecord("going-on") };
  return callAs({ credentials, isDeleted }, stored as unknown as BearerOfToken, "going-on");
}

type BearerOfToken = Pick<Caller, "credential" | "foreign">;

/** The call options of the bearer of a credential, without its token. What they do ends with the credential. */
export function callAs(
  { credentials, isDeleted }: Pick<AuthenticationPorts, "credentials" | "isDeleted">,
  { credential, foreign }: BearerOfToken,
  requestId: string,
): ServiceApiCallOptions {
  const { id, namespaceId } = credential;
  const isCredentialValid = async (now: Date): Promise<boolean> =>
    foreign === undefined ? credentials.isValidAt(id, now) : foreign.lastsUntil > now.toISOString();
  const isValidAt = async (now: Date): Promise<boolean> =>
    (await isDeleted?.(namespaceId)) !== true && isCredentialValid(now);
  const caller: Caller = { credential, isValidAt, isStillAdmitted: isValidAt };
  return { host: { ...openRecord(requestId), caller, facts: { tenant: namespaceId, credentialId: id } } };
}
