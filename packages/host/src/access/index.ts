export { createAccessGuard, type HostAccessGuard } from "./access-guard.ts";
export { admissionErrors } from "./admission-errors.ts";
export { ensureAdminToken, type OperatorToken } from "./admin-token.ts";
export { type AuthenticationPorts, requireAdmitted } from "./authenticate.ts";
export { beginSession, consoleLink, createCode, createCodeFor, endSession } from "./begin-session.ts";
export { type ClientCertificate, describeCertificate } from "./client-certificate.ts";
export { findCredentialEnd } from "./credential-end.ts";
export { createCredentialStore, type CredentialStore, isStorable } from "./credential-store.ts";
export { findBearer, type Bearer, type BearerChoice } from "./find-bearer.ts";
export { isKeySetUrl, JwtConfigSchema } from "./jwt-config.ts";
export { createJwtVerifier } from "./jwt.ts";
export { readKeySet } from "./key-set.ts";
export { callOfStoredCaller, storedCaller } from "./stored-caller.ts";
export { limitSenders } from "./limit-senders.ts";
export { createOperator, isAdminOfAll, type Operator, operatorScope } from "./operator.ts";
export { createPrincipalStore, type PrincipalStore } from "./principal-store.ts";
export { chargeAllowance, createRateLimit, type RateLimit } from "./rate-limit.ts";
export type { RequestHeaders } from "./request-headers.ts";
export { openRecord, recordOf, type RequestRecord } from "./request-record.ts";
export {
  type AdmittedOperator,
  requireOperator,
  requireOwnOrigin,
  requireOwnToken,
  type OperatorPorts,
} from "./require-operator.ts";
export {
  admitCaller,
  type AdmittedCaller,
  createBearerContexts,
  createContextResolver,
  type BearerContexts,
  type ContextResolver,
} from "./resolve-context.ts";
export { reviewerProblem } from "./reviewer-problem.ts";
export { freshId } from "./secrets.ts";
export { setCookie } from "./session-cookie.ts";
export { createSessionStore, sessionMs, type SessionStore } from "./session-store.ts";
export { verifySenders } from "./verify-senders.ts";
