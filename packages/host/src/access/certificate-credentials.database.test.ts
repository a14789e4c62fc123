import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { identityProvider, noon, trusting } from "../../test/identity-provider.ts";
import { access } from "../../test/records.ts";
import { openStores } from "../compose/stores.ts";
import { authenticate } from "./authenticate.ts";
import { beginSession } from "./begin-session.ts";
import type { ClientCertificate } from "./client-certificate.ts";
import { presentedBy } from "./credential-writes.ts";
import { createJwtVerifier } from "./jwt.ts";
import { createRateLimit } from "./rate-limit.ts";
import { openRecord } from "./request-record.ts";
import { requireOperator, type OperatorPorts } from "./require-operator.ts";
import type { SessionHalves } from "./session-store.ts";
import { freshId } from "./secrets.ts";

let certificates = 0;

/** A certificate that no other test uses. */
function newCertificate(): ClientCertificate & { name: string } {
  certificates += 1;
  const name = `uri:spiffe://acme/${certificates}`;
  return { name, names: [`sha256:${certificates}`, name], validUntil: noon.getTime() + 1000 };
}

/** The headers of a request with a token, over a connection with a certificate; without either when it is left out. */
function sent(token: string | undefined, certificate?: ClientCertificate) {
  const headers = new Headers(token === undefined ? {} : { authorization: `Bearer ${token}` });
  return { get: (name: string) => headers.get(name), certificate };
}

const refused = { status: 401, code: "unauthenticated" };

describe.each(databaseKinds)("a credential that names a client certificate, on %s", (kind) => {
  const open = sharedDatabase(kind);

  async function world() {
    const { credentials } = openStores(await open());
    const shown = newCertificate();
    const create = (more: object = {}) =>
      credentials.create({ namespaceId: newTenant(), access: { ...access, certificate: shown.name }, ...more });
    const ask = (headers: ReturnType<typeof sent>, now = noon) =>
      authenticate({ credentials, clock: () => now }, headers).then(({ credential }) => credential.id);
    return { credentials, shown, create, ask };
  }

  test("is used over a connection that shows it, with its token and without", async () => {
    const { shown, create, ask } = await world();
    const { id, token } = await create();
    expect(await ask(sent(token, shown))).toBe(id);
    expect(await ask(sent(undefined, shown))).toBe(id);
  });

  test("is not used with its token alone, or over a connection that shows another certificate", async () => {
    const { shown, create, ask } = await world();
    const { token } = await create();
    await expect(ask(sent(token))).rejects.toMatchObject(refused);
    await expect(ask(sent(token, newCertificate()))).rejects.toMatchObject(refused);
    await expect(ask(sent(undefined, newCertificate()))).rejects.toMatchObject(refused);
    await expect(ask(sent(token, { ...shown, validUntil: noon.getTime() }))).rejects.toMatchObject(refused);
    await expect(ask(sent(undefined, { ...shown, validUntil: noon.getTime() }))).rejects.toMatchObject(refused);
  });

  test("is revoked and expires as every other", async () => {
    const { credentials, shown, create, ask } = await world();
    const expiresAt = new Date(noon.getTime() + 500).toISOString();
    const { id } = await create({ expiresAt });
    expect(await ask(sent(undefined, shown))).toBe(id);
    await expect(ask(sent(undefined, shown), new Date(expiresAt))).rejects.toMatchObject(refused);
    await credentials.revoke(id, noon.toISOString());
    await expect(ask(sent(undefined, shown))).rejects.toMatchObject(refused);
  });

  test("is one of several of that certificate only by its token", async () => {
    const { credentials, shown, create, ask } = await world();
    const [one, other] = [await create(), await create()];
    await expect(ask(sent(undefined, shown))).rejects.toMatchObject(refused);
    expect(await ask(sent(one.token, shown))).toBe(one.id);
    await credentials.revoke(one.id, noon.toISOString());
    expect(await ask(sent(undefined, shown))).toBe(other.id);
  });

  test("is not identified by the certificate alone where so many name it that not all are read", async () => {
    const { credentials, shown, create, ask } = await world();
    const expiresAt = noon.toISOString();
    const expired: { id: string }[] = [];
    while (expired.length < 99) expired.push(await create({ expiresAt }));
    const { id, token } = await create();
    await expect(ask(sent(undefined, shown))).rejects.toMatchObject(refused);
    expect(await ask(sent(token, shown))).toBe(id);
    await credentials.revoke(expired[0]?.id ?? "", expiresAt);
    expect(await ask(sent(undefined, shown))).toBe(id);
  });

  test("does not count where an authorization was sent that is another caller's or not valid", async () => {
    const { credentials, shown, create, ask } = await world();
    await create();
    const plain = await credentials.create({ namespaceId: newTenant(), access });
    expect(await ask(sent(plain.token, shown))).toBe(plain.id);
    await expect(ask(sent("tp_unknown", shown))).rejects.toMatchObject(refused);
    const basic = new Headers({ authorization: "Basic YTpi" });
    await expect(ask({ get: (name) => basic.get(name), certificate: shown })).rejects.toMatchObject(refused);
  });
});

describe("a browser that shows a client certificate", () => {
  const open = sharedDatabase("sqlite");
  const own = { host: "gate.example:8443" };

  async function world() {
    const { credentials } = openStores(await open());
    const shown = newCertificate();
    const { id, token } = await credentials.create({
      namespaceId: newTenant(),
      access: { ...access, certificate: shown.name },
    });
    const ask = (more: Record<string, string>) => {
      const headers = new Headers({ ...own, ...more });
      const sender = { get: (name: string) => headers.get(name), certificate: shown };
      return authenticate({ credentials, clock: () => noon }, sender).then(({ credential }) => credential.id);
    };
    return { id, token, ask };
  }

  for (const row of [
    { page: "another site", headers: { origin: "https://evil.example", "sec-fetch-site": "cross-site" } },
    { page: "another port of this machine", headers: { "sec-fetch-site": "same-site" } },
    { page: "another site, in a browser that says no more", headers: { origin: "https://evil.example" } },
    { page: "this host without TLS", headers: { origin: "http://gate.example:8443" } },
    { page: "an unknown origin", headers: { origin: "null" } },
  ])
    test(`is not admitted for a page of ${row.page}, unless the page has a token`, async () => {
      const { id, token, ask } = await world();
      await expect(ask(row.headers)).rejects.toMatchObject({ status: 403, code: "permission_denied" });
      expect(await ask({ ...row.headers, authorization: `Bearer ${token}` })).toBe(id);
    });

  test("is the bearer for a page of this host, and for a person who opens a link", async () => {
    const { id, ask } = await world();
    expect(await ask({ origin: "https://gate.example:8443", "sec-fetch-site": "same-origin" })).toBe(id);
    expect(await ask({ "sec-fetch-site": "none" })).toBe(id);
    expect(await ask({})).toBe(id);
  });
});

describe("an operator whose credential names a client certificate", () => {
  const open = sharedDatabase("sqlite");

  /** Bob, and who he is over a connection that shows a certificate, or none. */
  async function world() {
    const stores = openStores(await open());
    const shown = newCertificate();
    const bob = await stores.credentials.create({
      namespaceId: "operators",
      access: { ...access, admin: true, certificate: shown.name },
    });
    const ports: OperatorPorts = {
      ...stores,
      clock: () => noon,
      originOf: () => "https://gate.example",
      rateLimit: createRateLimit({ perSecond: 100, burst: 100 }),
      onAuditError: () => {},
    };
    const signIn = (by: { token: string } | { code: string }, certificate?: ClientCertificate) =>
      beginSession(ports, by, sent(undefined, certificate), openRecord("request-1"));
    const enter = ({ cookie, page }: SessionHalves, certificate?: ClientCertificate) => {
      const headers = new Headers({ cookie: `__Host-turnpike=${cookie}`, "x-turnpike-console": page });
      const request = { method: "GET", headers: { get: (name: string) => headers.get(name), certificate } };
      const record = openRecord("request-2");
      return requireOperator(ports, request, record).then((operator) => ({ ...operator, record }));
    };
    return { stores, bob, shown, signIn, enter };
  }

  test("begins a session by a token or a code over a connection that shows it, and over no other", async () => {
    const { stores, bob, shown, signIn } = await world();
    const presented = presentedBy(bob.token);
    const { code } = await stores.sessions.createCode(freshId(), presented, noon);
    for (const by of [{ token: bob.token }, { code }]) {
      await expect(signIn(by)).rejects.toMatchObject(refused);
      await expect(signIn(by, newCertificate())).rejects.toMatchObject(refused);
      expect((await signIn(by, shown)).operator.id).toBe(bob.id);
    }
  });

  test("is used in a session over a connection that shows it, and over no other", async () => {
    const { bob, shown, signIn, enter } = await world();
    const halves = await signIn({ token: bob.token }, shown);
    expect((await enter(halves, shown)).id).toBe(bob.id);
    await expect(enter(halves)).rejects.toMatchObject(refused);
    await expect(enter(halves, newCertificate())).rejects.toMatchObject(refused);
  });

  test("is known to what handles a request, and to its log line, until the session ends", async () => {
    const { stores, bob, shown, signIn, enter } = await world();
    const halves = await signIn({ token: bob.token }, shown);
    const { record, session } = await enter(halves, shown);
    const { caller, facts } = record;
    expect(facts).toEqual({ tenant: "operators", credentialId: bob.id });
    expect([caller?.credential.id, await caller?.isValidAt(noon)]).toEqual([bob.id, true]);
    await stores.sessions.end(session?.id ?? "");
    expect(await caller?.isValidAt(noon)).toBe(false);
  });
});

describe("a token of an identity provider that is bound to a certificate", () => {
  const open = sharedDatabase("sqlite");

  test("is used over a connection that shows it, and over no other", async () => {
    const provider = await identityProvider();
    const { credentials } = openStores(await open());
    const jwt = createJwtVerifier(trusting(provider));
    const hash = Buffer.alloc(32, 7);
    const token = await provider.sign({ cnf: { "x5t#S256": hash.toString("base64url") } });
    const shown = { names: [`sha256:${hash.toString("hex")}`], validUntil: noon.getTime() + 1 };
    const ask = (certificate?: ClientCertificate) =>
      authenticate({ credentials, jwt, clock: () => noon }, sent(token, certificate));
    expect((await ask(shown)).credential.access.actor).toEqual({ kind: "human", userId: "alice" });
    await expect(ask()).rejects.toMatchObject(refused);
    await expect(ask(newCertificate())).rejects.toMatchObject(refused);
  });
});
