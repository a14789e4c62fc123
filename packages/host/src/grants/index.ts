export {
  createGrantStore,
  findGrant,
  GrantIdTakenError,
  type GrantPlace,
  type GrantStore,
  insertGrant,
} from "./grant-store.ts";
