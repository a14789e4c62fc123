export { createGrantStore, GrantIdTakenError, type GrantStore, insertGrant } from "./grant-store.ts";
