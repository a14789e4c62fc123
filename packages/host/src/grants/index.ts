export { createGrantStore, type GrantStore } from "./grant-store.ts";
export { MakerRevokedError } from "./grant-makers.ts";
export { findGrant, findGrantEnd } from "./grant-reads.ts";
export {
  type GrantChanges,
  GrantIdTakenError,
  type GrantPlace,
  insertGrant,
  revokeGrant,
  RevisionPassedError,
} from "./grant-writes.ts";
export { InvariantViolatedError } from "./check-invariants.ts";
export { createInvariantStore, InvariantIdTakenError, type InvariantStore } from "./invariant-store.ts";
export { compareChange, type GrantChange, readOnce, withChange } from "./changed-grants.ts";
