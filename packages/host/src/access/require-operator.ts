import { ServiceHttpError } from "turnpike/http";
import type { AuditSink } from "turnpike/kernel";
import { authenticate, type AuthenticationPorts } from "./authenticate.ts";
import { createOperator, operatorScope, type Operator } from "./operator.ts";
import { takeAllowance, type RateLimit } from "./rate-limit.ts";
import type { RequestHeaders } from "./request-headers.ts";
import type { RequestRecord } from "./request-record.ts";

/** What admitting operators uses. */
export interface OperatorPorts extends Omit<AuthenticationPorts, "jwt"> {
  rateLimit: RateLimit;
  audit: AuditSink;
  onAuditError(error: unknown): void;
}

/** The operator behind a request. Throws 401, 403 or 429 to refuse the request. */
export async function requireOperator(
  ports: OperatorPorts,
  headers: RequestHeaders,
  record: RequestRecord,
): Promise<Operator> {
  const { credentials, clock, audit } = ports;
  const caller = await authenticate({ credentials, clock }, headers, "an operator's credential");
  const { id, namespaceId, access } = caller.credential;
  record.facts = { tenant: namespaceId, credentialId: id };
  takeAllowance(ports.rateLimit, caller, record);
  const scope = operatorScope(access);
  if (scope === undefined)
    throw new ServiceHttpError(403, "permission_denied", "This credential is not an operator's.");
  const { requestId } = record;
  return createOperator({ id, actor: access.actor, requestId, ...scope }, audit, (error) => ports.onAuditError(error));
}
