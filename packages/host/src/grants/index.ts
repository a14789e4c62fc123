export {
  createGrantStore,
  findGrant,
  type GrantChanges,
  GrantIdTakenError,
  type GrantPlace,
  type GrantStore,
  insertGrant,
} from "./grant-store.ts";
export { type GrantChange, readOnce, withChange } from "./changed-grants.ts";
