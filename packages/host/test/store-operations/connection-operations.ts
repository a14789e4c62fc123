import {
  askedBy,
  askPerson,
  connectedCode,
  connectedTokens,
  consentOf,
  exchangeOf,
  presentedOf,
} from "../connections.ts";
import { now } from "../records.ts";
import { signIn } from "./person-operations.ts";
import type { Operations } from "./operation.ts";

const at = new Date(now);

/** Clients that act for people. */
export const connectionOperations: Operations = {
  "clients.register":
    ({ clients }, { tenant }) =>
    () =>
      clients.register({ name: tenant, redirectUris: ["http://127.0.0.1/callback"] }, now),
  "clients.find": async ({ clients }, { tenant }) => {
    const client = await clients.register({ name: tenant, redirectUris: ["http://127.0.0.1/callback"] }, now);
    return () => clients.find(client?.id ?? "");
  },
  "connections.begin": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const presented = await presentedOf(stores, person.credentialId);
    const codeId = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    await stores.sessions.createCode(codeId, presented, at);
    const { namespaceId } = person;
    return () => stores.connections.begin(askedBy(seed.tenant), { namespaceId, presented, codeId }, at);
  },
  "connections.findRequest": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { id, secret } = await askPerson(stores, person);
    return () => stores.connections.findRequest(id, secret, at);
  },
  "connections.cancel": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { id } = await askPerson(stores, person);
    return () => stores.connections.cancel(id);
  },
  "connections.consent": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { id } = await askPerson(stores, person);
    const consent = await consentOf(stores, person);
    return () => stores.connections.consent(id, consent, at);
  },
  "connections.consent, again": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    await connectedTokens(stores, person);
    const { id } = await askPerson(stores, person);
    const consent = await consentOf(stores, person);
    return () => stores.connections.consent(id, consent, at);
  },
  "connections.exchange": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const code = await connectedCode(stores, person);
    return () => stores.connections.exchange(exchangeOf(code, seed.tenant), at);
  },
  "connections.exchange, again": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { code } = await connectedTokens(stores, person);
    return () => stores.connections.exchange(exchangeOf(code, seed.tenant), at);
  },
  "connections.refresh": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { tokens } = await connectedTokens(stores, person);
    return () => stores.connections.refresh({ token: tokens.refreshToken, clientId: seed.tenant }, at);
  },
  "connections.list": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    await connectedTokens(stores, person);
    return () => stores.connections.list({ namespaceId: seed.tenant, limit: 9 });
  },
  "connections.find": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { connection } = await connectedTokens(stores, person);
    return () => stores.connections.find(seed.tenant, connection.id);
  },
  "connections.listOf": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    await connectedTokens(stores, person);
    return () => stores.connections.listOf(seed.tenant, person.principal);
  },
  "connections.end": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { connection } = await connectedTokens(stores, person);
    return () => stores.connections.end(connection, now);
  },
  "connections.endAll": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    await connectedTokens(stores, person);
    return () =>
      stores.credentials.revoke(person.credentialId, now, (transaction) =>
        stores.connections.endAll(transaction, person, now),
      );
  },
  "connections.revokeToken": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    const { tokens } = await connectedTokens(stores, person);
    return () => stores.connections.revokeToken(tokens.accessToken, seed.tenant, at);
  },
};
