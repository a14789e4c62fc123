export { createGrantStore, GrantIdTaken, type GrantStore, insertGrant } from "./grant-store.ts";
