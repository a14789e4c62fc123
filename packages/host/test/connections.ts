import type { Stores } from "../src/compose/stores.ts";
import type { Connection, Offer } from "../src/connections/index.ts";
import type { Person } from "../src/people/index.ts";
import { grant, now } from "./records.ts";

const at = new Date(now);
const verified = "verified";

/** What a client asks in a tenant. */
export function askedBy(clientId: string) {
  const redirectUri = "http://127.0.0.1:7777/callback";
  const asked = { challenge: verified, resource: "https://gate.example.com/mcp", scope: "offline_access" };
  return { clientId, clientName: "Editor", redirectUri, ...asked };
}

/** What a person lets a client do: something of a grant that they get for it. */
export async function consentOf({ grants }: Pick<Stores, "grants">, { namespaceId, principal }: Person) {
  const id = `hold-${namespaceId}`;
  const held = grant(id, { namespaceId, subject: principal, constraints: { delegationDepth: 1 } });
  if ((await grants.find(namespaceId, id)) === undefined) await grants.issue(held);
  const [capability] = held.capabilities;
  if (capability === undefined) throw new Error("The grant allows nothing.");
  const offer: Offer = { key: "offer", grantId: id, capability, isAsked: true };
  return { chosen: [{ offer, isAskedEach: false }], purpose: "work", toolNamespaces: ["files"] };
}

/** Has a client ask a person who has just signed in. */
export async function askPerson(stores: Stores, { namespaceId, credentialId }: Person, clientId = namespaceId) {
  const presented = await presentedOf(stores, credentialId);
  const codeId = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
  await stores.sessions.createCode(codeId, presented, at);
  const begun = await stores.connections.begin(askedBy(clientId), { namespaceId, presented, codeId }, at);
  if (begun === undefined) throw new Error("The sign-in was used.");
  return begun;
}

/** A person signs in, as far as a client is concerned. */
export async function presentedOf({ people }: Pick<Stores, "people">, credentialId: string) {
  const person = await people.findBy(credentialId);
  if (person === undefined) throw new Error("There is no such person.");
  const { namespaceId, principal, issuer } = person;
  const entered = await people.enter(
    {
      kind: "person",
      issuer,
      providerSubject: "alice",
      namespaceId,
      principal,
      name: "Alice",
      access: { actor: principal, owner: principal, purposes: ["work"], signedIn: true },
      holds: undefined,
    },
    now,
  );
  if (entered.kind !== "entered") throw new Error(`They are not let in: ${entered.kind}.`);
  return entered.presented;
}

/** Makes a connection; returns the code that its client gets. */
export async function connectedCode(stores: Stores, person: Person, clientId = person.namespaceId): Promise<string> {
  const { id } = await askPerson(stores, person, clientId);
  const consented = await stores.connections.consent(id, await consentOf(stores, person), at);
  if (consented.kind !== "connected") throw new Error(`Nothing is connected: ${consented.kind}.`);
  return consented.code;
}

/** What a client sends with a code. */
export function exchangeOf(code: string, clientId: string) {
  return { code, clientId, redirectUri: askedBy(clientId).redirectUri, challenge: verified };
}

/** Makes a connection, and gives its client the tokens. */
export async function connectedTokens(
  stores: Stores,
  person: Person,
  clientId = person.namespaceId,
): Promise<{ code: string; tokens: { accessToken: string; refreshToken: string }; connection: Connection }> {
  const code = await connectedCode(stores, person, clientId);
  const answer = await stores.connections.exchange(exchangeOf(code, clientId), at);
  if (answer.kind !== "issued") throw new Error(`The code is not taken: ${answer.kind}.`);
  return { code, tokens: answer.tokens, connection: answer.connection };
}
