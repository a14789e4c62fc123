import { toHeaderValue, ServiceHttpError, type ServiceApiCallOptions } from "turnpike/http";
import type { DiscoveryContext } from "turnpike/contracts";
import type { AuthenticationPorts } from "./authenticate.ts";
import { callAs } from "./stored-caller.ts";
import type { BearerContexts } from "./resolve-context.ts";

/** What finding the bearer of a credential uses. */
export interface BearerPorts extends Pick<AuthenticationPorts, "credentials" | "isDeleted" | "clock"> {
  contextOf: BearerContexts;
}

/** A credential by its id, and how it would be used. */
export interface BearerChoice {
  namespaceId: string;
  credentialId: string;
  purpose?: string | undefined;
}

/** What the bearer of a credential acts in: exactly what a request with its token would act in. */
export interface Bearer {
  context: DiscoveryContext;
  call: ServiceApiCallOptions;
}

/**
 * The bearer of a credential of one tenant that is valid now. Throws 404 for one of another tenant as for one that is not
 * there, 409 for one that has expired or was revoked, and 403 for an operator's, which acts for no principal.
 */
export async function findBearer(
  { credentials, isDeleted, contextOf, clock }: BearerPorts,
  { namespaceId, credentialId, purpose }: BearerChoice,
  traceId: string,
): Promise<Bearer> {
  const now = clock();
  const found = await credentials.find(credentialId);
  const isThere = found?.namespaceId === namespaceId && (await isDeleted?.(namespaceId)) !== true;
  if (found === undefined || !isThere)
    throw new ServiceHttpError(404, "not_found", "There is no credential of this id in this tenant.");
  if (!(await credentials.isValidAt(credentialId, now)))
    throw new ServiceHttpError(
      409,
      "conflict",
      "This credential has expired or was revoked. Choose one that is valid.",
    );
  const { id, access } = found;
  const credential = { id, namespaceId, access };
  const choice = { purpose: purpose === undefined ? null : toHeaderValue(purpose), authority: null };
  const context = await contextOf(credential, choice, now, traceId);
  return { context, call: callAs({ credentials, isDeleted }, { credential }, traceId) };
}
