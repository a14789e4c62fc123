import { alice, grant, now } from "../records.ts";
import type { Stores } from "../../src/compose/stores.ts";
import type { Identity } from "../../src/people/index.ts";
import type { Operations, Seed } from "./operation.ts";

/** Alice, as the provider of this tenant alone says who she is: its users are found in all tenants. */
function identityIn({ tenant }: Pick<Seed, "tenant">): Identity {
  const { capabilities } = grant("hold");
  return {
    kind: "person",
    issuer: `https://${tenant}.example`,
    providerSubject: "alice",
    namespaceId: tenant,
    principal: alice,
    name: "Alice",
    access: { actor: alice, owner: alice, purposes: ["work"], signedIn: true },
    holds: { issuer: { kind: "service", serviceId: "directory" }, capabilities },
  };
}

/** Signs Alice in to a tenant. */
export async function signIn({ people }: Stores, seed: Seed) {
  const entered = await people.enter(identityIn(seed), now);
  if (entered.kind !== "entered") throw new Error(`Alice is not let in: ${entered.kind}.`);
  return entered;
}

/** Those who sign in with an identity provider, and their sessions. */
export const personOperations: Operations = {
  "people.enter": (stores, seed) => () => stores.people.enter(identityIn(seed), now),
  "people.enter, again": async (stores, seed) => {
    await signIn(stores, seed);
    return () => stores.people.enter({ ...identityIn(seed), name: "Alice A." }, now);
  },
  "people.find": async (stores, seed) => {
    await signIn(stores, seed);
    return () => stores.people.find(seed.tenant, alice);
  },
  "people.findBy": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    return () => stores.people.findBy(person.credentialId);
  },
  "people.list": async (stores, seed) => {
    await signIn(stores, seed);
    return () => stores.people.list({ namespaceId: seed.tenant, limit: 9 });
  },
  "people.credentialsOf": async (stores, seed) => {
    await signIn(stores, seed);
    return () => stores.people.credentialsOf(identityIn(seed).issuer, "alice");
  },
  "people.restore": async (stores, seed) => {
    const { person } = await signIn(stores, seed);
    await stores.credentials.revoke(person.credentialId, now);
    return () => stores.people.restore(person.id);
  },
  "people.isFirst":
    ({ people }, { tenant }) =>
    () =>
      people.isFirst(tenant, new Date(now)),
  "sessions.endOfProvider": async (stores, seed) => {
    const { presented } = await signIn(stores, seed);
    const bound = { browserHash: "browser", providerSession: `session of ${seed.tenant}`, endsAt: new Date(now) };
    const id = freshId();
    await stores.sessions.createCode(id, presented, new Date(now), bound);
    await stores.sessions.begin(freshId(), { presented, codeId: id }, new Date(now));
    const ending = { providerSession: bound.providerSession, credentialIds: [] };
    const once = { id: seed.tenant, until: new Date(now) };
    return () => stores.sessions.endOfProvider({ ...ending, once });
  },
};

function freshId(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 16);
}
