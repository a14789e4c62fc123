import type { AuditSink } from "turnpike/kernel";
import { ServiceHttpError } from "turnpike/http";
import {
  createOperator,
  type CredentialStore,
  type Operator,
  type RateLimit,
  requestScope,
} from "../../access/index.ts";

/** What operators are let in with. */
export interface OperatorPorts {
  credentials: CredentialStore;
  rateLimit: RateLimit;
  audit: AuditSink;
  onAuditError(error: unknown): void;
}

/** The operator behind a request; throws 401, 403 or 429 when there is none, or too much of one. */
export async function requireOperator(ports: OperatorPorts, headers: Headers, requestId: string): Promise<Operator> {
  const [, token = ""] = /^bearer +([^ ]+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  const credential = await ports.credentials.verify(token, new Date());
  if (credential === undefined) {
    const message = "Send an operator's credential: authorization: Bearer <token>.";
    throw new ServiceHttpError(401, "unauthenticated", message, {
      headers: { "www-authenticate": 'Bearer realm="turnpike"' },
    });
  }
  const { id, access } = credential;
  const scope = requestScope();
  if (scope !== undefined) scope.facts = { tenant: credential.namespaceId, credentialId: id };
  const allowance = ports.rateLimit.take(id);
  for (const [name, value] of Object.entries(allowance.headers)) scope?.headers.set(name, value);
  if (!allowance.isGranted) throw new ServiceHttpError(429, "rate_limited", "Too many requests with this credential.");
  if (access.admin !== true)
    throw new ServiceHttpError(403, "permission_denied", "This credential is not an operator's.");
  return createOperator({ id, actor: access.actor, requestId }, ports.audit, (error) => ports.onAuditError(error));
}
