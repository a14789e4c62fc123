export { countOnce } from "./count-once.ts";
export { createAccessGuard, type HostAccessGuard } from "./access-guard.ts";
export { admissionErrors } from "./admission-errors.ts";
export { ensureAdminToken, type OperatorToken } from "./admin-token.ts";
export { type AuthenticationPorts, requireAdmitted, requireOwnPage, unauthenticated } from "./authenticate.ts";
export { beginSession, codeLink, consoleLink, createCode, createCodeFor, endSession } from "./begin-session.ts";
export { type ClientCertificate, describeCertificate } from "./client-certificate.ts";
export { findCredentialEnd } from "./credential-end.ts";
export { createCredentialStore, type CredentialStore } from "./credential-store.ts";
export {
  createSignedIn,
  createWithShortToken,
  isStorable,
  type PresentedCredential,
  presentedBy,
  renewShortToken,
  renewSignedIn,
  revokeCredential,
} from "./credential-writes.ts";
export { findBearer, type Bearer, type BearerChoice } from "./find-bearer.ts";
export { isKeySetUrl, JwtConfigSchema } from "./jwt-config.ts";
export { createJwtVerifier } from "./jwt.ts";
export { readKeySet } from "./key-set.ts";
export { callOfStoredCaller, storedCaller } from "./stored-caller.ts";
export { limitSenders } from "./limit-senders.ts";
export { createOperator, isAdminOfAll, type Operator, operatorScope } from "./operator.ts";
export { createPrincipalStore, type PrincipalStore } from "./principal-store.ts";
export { chargeAllowance, createRateLimit, type RateLimit, takeAllowance } from "./rate-limit.ts";
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
export { type Answerer, reviewerProblem } from "./reviewer-problem.ts";
export { freshId, freshSecret, isSameHash, isSameText, secretHashOf } from "./secrets.ts";
export {
  browserHashOf,
  readConsentCookie,
  readCookie,
  readSignInCookie,
  setConsentCookie,
  setCookie,
  setSignInCookie,
} from "./session-cookie.ts";
export { createSessionStore, sessionMs, type SessionHalves, type SessionStore } from "./session-store.ts";
export { verifySenders } from "./verify-senders.ts";
