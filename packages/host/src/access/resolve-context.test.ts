import { rmSync } from "node:fs";
import type { CredentialAccess } from "../admin-contract/records.ts";
import { describe, expect, test } from "vitest";
import { DiscoveryContextSchema, type DiscoveryContext } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { newTenant, sharedDatabase } from "../../test/databases.ts";
import { identityProvider, inAnHour, noon, trusting } from "../../test/identity-provider.ts";
import { access, alice, assistant, context, neverAborted } from "../../test/records.ts";
import { createRateLimit } from "./rate-limit.ts";
import { openRecord, type RequestRecord } from "./request-record.ts";
import { openStores } from "../compose/stores.ts";
import type { NamespaceSettingsStore } from "../tool-namespaces/index.ts";
import { createJwtVerifier, type JwtVerifier } from "./jwt.ts";
import { createBearerContexts, createContextResolver } from "./resolve-context.ts";

const open = sharedDatabase("sqlite");

interface World {
  tenant: string;
  token: string;
  credentialId: string;
  resolve(
    headers: Record<string, string>,
  ): Promise<{ context: unknown } & Pick<RequestRecord, "headers" | "facts" | "caller">>;
  revoke(): Promise<boolean>;
  enable(namespace: string): Promise<unknown>;
  change: NamespaceSettingsStore["change"];
}

async function world(
  options: {
    access?: Partial<CredentialAccess>;
    burst?: number;
    jwt?: JwtVerifier;
    isDeleted?: (namespaceId: string) => Promise<boolean>;
  } = {},
): Promise<World> {
  const stores = openStores(await open());
  const tenant = newTenant();
  const made = await stores.credentials.create({ namespaceId: tenant, access: { ...access, ...options.access } });
  const resolver = createContextResolver({
    credentials: stores.credentials,
    settings: stores.settings,
    jwt: options.jwt,
    isDeleted: options.isDeleted,
    rateLimit: createRateLimit({ perSecond: 1, burst: options.burst ?? 100, clock: () => 0 }),
    clock: () => noon,
  });
  return {
    tenant,
    token: made.token,
    credentialId: made.id,
    async resolve(headers) {
      const record = openRecord("request-1");
      const resolved = await resolver(new Headers(headers), record).catch((error: unknown) => error);
      return { context: resolved, ...record };
    },
    revoke: () => stores.credentials.revoke(made.id, noon.toISOString()),
    enable: (namespace) =>
      stores.settings.applyUpdate(context({ namespaceId: tenant }), { enable: [namespace] }, neverAborted),
    change: stores.settings.change,
  };
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** The fields of an error as they reach the wire. */
function wire(error: unknown): unknown {
  if (!(error instanceof ServiceHttpError)) return error;
  const { status, code, message, headers } = error;
  return { status, code, message, headers };
}

const unauthenticated = {
  status: 401,
  code: "unauthenticated",
  message: "Send a valid credential: authorization: Bearer <token>.",
  headers: { "www-authenticate": 'Bearer realm="turnpike"' },
};

describe("a good credential", () => {
  test("becomes the context it allows, with the settings in force and the host's clock", async () => {
    const { tenant, token, credentialId, resolve, enable } = await world();
    await enable("files");
    const resolved = await resolve({ ...bearer(token), "x-trace-id": "trace-1" });
    expect(resolved.context).toEqual({
      actor: assistant,
      authority: alice,
      owner: alice,
      namespaceId: tenant,
      enabledToolNamespaces: ["files"],
      now: "2026-01-01T12:00:00.000Z",
      purpose: "support",
      traceId: "trace-1",
      credential: credentialId,
    });
    expect(resolved.facts).toEqual({ tenant, traceId: "trace-1", credentialId });
  });

  test("is known to whatever handles the request, which can ask whether it is still good", async () => {
    const { token, credentialId, resolve, revoke } = await world();
    const { caller } = await resolve(bearer(token));
    expect(caller?.credential.id).toBe(credentialId);
    expect(await caller?.isValidAt(noon)).toBe(true);
    await revoke();
    expect(await caller?.isValidAt(noon)).toBe(false);
  });

  test("without an authority leaves it open", async () => {
    const { token, resolve } = await world({ access: { authority: undefined } });
    expect((await resolve(bearer(token))).context).not.toHaveProperty("authority");
  });

  for (const scheme of ["bearer", "BEARER", "Bearer  "]) {
    test(`is taken from the scheme written as ${JSON.stringify(scheme)}`, async () => {
      const { token, resolve } = await world();
      expect((await resolve({ authorization: `${scheme} ${token}` })).context).toMatchObject({ purpose: "support" });
    });
  }

  test("of an identity provider is as good as one of the host", async () => {
    const provider = await identityProvider();
    const { resolve } = await world({ jwt: createJwtVerifier(trusting(provider)) });
    const { context: resolved } = await resolve(bearer(await provider.sign()));
    expect(resolved).toMatchObject({ actor: alice, owner: alice, namespaceId: "tenant-1", purpose: "support" });
    // This host does not know when it is revoked.
    expect(resolved).not.toHaveProperty("credential");
  });

  for (const row of [
    { exp: inAnHour, lastsUntil: "2026-01-01T13:00:00.000Z" },
    { exp: 1e15, lastsUntil: "9999-12-31T23:59:59.999Z" },
  ])
    test(`of an identity provider lasts until ${row.lastsUntil}, which is known without the token`, async () => {
      const provider = await identityProvider();
      const { resolve } = await world({ jwt: createJwtVerifier(trusting(provider)) });
      const { caller } = await resolve(bearer(await provider.sign({ exp: row.exp })));
      expect(caller?.foreign).toEqual({ lastsUntil: row.lastsUntil });
    });
});

describe("a tenant that was deleted", () => {
  test("a namespace that is switched off is gone from the next context, also where the token is remembered", async () => {
    const provider = await identityProvider();
    const { tenant, token, resolve, change } = await world({ jwt: createJwtVerifier(trusting(provider)) });
    const callers = [
      { sent: token, of: { namespaceId: tenant, actor: assistant } },
      { sent: await provider.sign(), of: { namespaceId: "tenant-1", actor: alice } },
    ];
    for (const { sent, of } of callers) {
      for (const isOn of [true, false]) {
        await change(of, isOn ? { enable: ["bank"] } : { disable: ["bank"] });
        const enabledToolNamespaces = isOn ? ["bank"] : [];
        expect((await resolve(bearer(sent))).context).toMatchObject({ enabledToolNamespaces });
      }
    }
  });

  test("each purpose and authority that a caller chooses has a context of its own, however many they try", async () => {
    const { token, resolve } = await world();
    for (const name of [...Array.from({ length: 40 }, (_, place) => `user-${place}`), "user-0"]) {
      const chosen = { ...bearer(token), "x-authority": `human:${name}` };
      expect((await resolve(chosen)).context).toMatchObject({ authority: { kind: "human", userId: name } });
      expect((await resolve({ ...chosen, "x-purpose": "billing" })).context).toMatchObject({ purpose: "billing" });
    }
    expect((await resolve(bearer(token))).context).toMatchObject({ purpose: "support", authority: alice });
  });

  test("has no caller, by a credential or by a token of an identity provider, and those it had are no longer valid", async () => {
    const provider = await identityProvider();
    const deleted = new Set<string>();
    const isDeleted = (namespaceId: string): Promise<boolean> => Promise.resolve(deleted.has(namespaceId));
    const { tenant, token, resolve } = await world({ jwt: createJwtVerifier(trusting(provider)), isDeleted });
    const signed = await provider.sign();
    const callers = await Promise.all([token, signed].map(async (sent) => (await resolve(bearer(sent))).caller));
    const areValid = () => Promise.all(callers.map((caller) => caller?.isValidAt(noon)));
    expect(await areValid()).toEqual([true, true]);
    deleted.add(tenant).add("tenant-1");
    expect(await areValid()).toEqual([false, false]);
    for (const sent of [token, signed]) expect(wire((await resolve(bearer(sent))).context)).toEqual(unauthenticated);
  });
});

describe("401 unauthenticated is the answer to", () => {
  const rows: { name: string; headers(token: string): Record<string, string> }[] = [
    { name: "no header", headers: () => ({}) },
    { name: "an empty header", headers: () => ({ authorization: "" }) },
    { name: "another scheme", headers: (token) => ({ authorization: `Basic ${token}` }) },
    { name: "a scheme that ends like the right one", headers: (token) => ({ authorization: `X-Bearer ${token}` }) },
    { name: "no scheme", headers: (token) => ({ authorization: token }) },
    { name: "two tokens", headers: (token) => ({ authorization: `Bearer ${token} ${token}` }) },
    { name: "an unknown token", headers: () => bearer(`tp_${"0".repeat(16)}_${"0".repeat(64)}`) },
    { name: "a garbled token", headers: (token) => bearer(token.slice(0, -1)) },
    { name: "a JWT where none are configured", headers: () => bearer("a.b.c") },
  ];
  for (const row of rows) {
    test(row.name, async () => {
      const { token, resolve } = await world();
      const { context: refused, headers } = await resolve(row.headers(token));
      expect(wire(refused)).toEqual(unauthenticated);
      expect(headers).toEqual({});
    });
  }

  test("a revoked token, in the very words of an unknown one", async () => {
    const { token, resolve, revoke } = await world();
    expect((await resolve(bearer(token))).context).toMatchObject({ purpose: "support" });
    await revoke();
    expect(wire((await resolve(bearer(token))).context)).toEqual(unauthenticated);
  });
});

describe("while the key set of an identity provider cannot be read", () => {
  async function withoutKeys() {
    const provider = await identityProvider();
    const config = trusting(provider);
    const jwt = createJwtVerifier(config);
    rmSync(config.jwks);
    return { provider, ...(await world({ jwt })) };
  }

  test("503 authority_unavailable is the answer to a JWT: it may be good", async () => {
    const { provider, resolve } = await withoutKeys();
    expect(wire((await resolve(bearer(await provider.sign()))).context)).toMatchObject({
      status: 503,
      code: "authority_unavailable",
      message: "Credentials and settings cannot be read right now.",
    });
  });

  test("credentials of the host count, and a request without any is still 401 unauthenticated", async () => {
    const { token, resolve } = await withoutKeys();
    expect((await resolve(bearer(token))).context).toMatchObject({ purpose: "support" });
    for (const headers of [{}, bearer("opaque")]) {
      expect(wire((await resolve(headers)).context)).toEqual(unauthenticated);
    }
  });
});

describe("x-purpose", () => {
  const purposes = ["support", "plan a trip", "Ärger", "100%"];
  for (const row of [
    { header: undefined, purpose: "support" },
    { header: "support", purpose: "support" },
    { header: "plan a trip", purpose: "plan a trip" },
    { header: "plan%20a%20trip", purpose: "plan a trip" },
    { header: "%C3%84rger", purpose: "Ärger" },
    { header: "100%25", purpose: "100%" },
    { header: "100%", purpose: "100%" },
  ]) {
    test(`${row.header ?? "left out"} is the purpose ${JSON.stringify(row.purpose)}`, async () => {
      const { token, resolve } = await world({ access: { purposes } });
      const headers = { ...bearer(token), ...(row.header !== undefined && { "x-purpose": row.header }) };
      expect((await resolve(headers)).context).toMatchObject({ purpose: row.purpose });
    });
  }

  for (const header of ["billing", "Support", "support, billing", ""]) {
    test(`${JSON.stringify(header)} is not allowed to a credential for something else`, async () => {
      const { token, resolve } = await world({ access: { purposes } });
      expect(wire((await resolve({ ...bearer(token), "x-purpose": header })).context)).toEqual({
        status: 403,
        code: "purpose_not_allowed",
        message: "This credential does not allow that purpose.",
        headers: {},
      });
    });
  }
});

describe("x-authority", () => {
  for (const row of [
    { header: undefined, authority: alice },
    { header: "human:bob", authority: { kind: "human", userId: "bob" } },
    { header: "service:urn:a:b", authority: { kind: "service", serviceId: "urn:a:b" } },
    { header: "human:%C3%A4", authority: { kind: "human", userId: "ä" } },
  ]) {
    test(`${row.header ?? "left out"} selects whose grants are exercised`, async () => {
      const { token, resolve } = await world();
      const headers = { ...bearer(token), ...(row.header !== undefined && { "x-authority": row.header }) };
      expect((await resolve(headers)).context).toMatchObject({
        authority: row.authority,
        actor: assistant,
        owner: alice,
      });
    });
  }

  for (const header of ["alice", "robot:x", "human:", "human:%20", "", `human:${"x".repeat(257)}`]) {
    test(`${JSON.stringify(header.slice(0, 20))} is no principal`, async () => {
      const { token, resolve } = await world();
      expect(wire((await resolve({ ...bearer(token), "x-authority": header })).context)).toEqual({
        status: 400,
        code: "invalid_request",
        message: "x-authority: expected kind:id, such as human:alice.",
        headers: {},
      });
    });
  }
});

test("a choice of nothing is none, also for a caller whose context without a choice is cached", async () => {
  const { token, resolve } = await world();
  expect((await resolve(bearer(token))).context).toMatchObject({ purpose: "support", authority: alice });
  expect((await resolve({ ...bearer(token), "x-purpose": "" })).context).toMatchObject({ code: "purpose_not_allowed" });
  expect((await resolve({ ...bearer(token), "x-authority": "" })).context).toMatchObject({ code: "invalid_request" });
});

test("two tenants have contexts of their own, also when one record says what both may do", async () => {
  const enabled: readonly string[] = [];
  const settings = { enabled: () => Promise.resolve(enabled) } as unknown as NamespaceSettingsStore;
  const contextOf = createBearerContexts({ settings });
  const nothing = { purpose: null, authority: null };
  for (const namespaceId of ["one", "other", "one"]) {
    const made = await contextOf({ id: "credential", namespaceId, access }, nothing, noon, "trace-1");
    expect(made.namespaceId).toBe(namespaceId);
  }
});

test("a context is made once for what a caller chooses, and few of them are cached, whatever a caller chooses", async () => {
  const { token, resolve } = await world();
  const as = async (user: string) => {
    const { context: made } = await resolve({ ...bearer(token), "x-authority": `human:${user}` });
    return (made as DiscoveryContext).enabledToolNamespaces;
  };
  const first = await as("first");
  expect(await as("first")).toBe(first);
  for (let other = 0; other < 16; other += 1) await as(`other-${other}`);
  expect(await as("first")).not.toBe(first);
});

describe("429 rate_limited", () => {
  test("is the answer beyond the burst, with what to do about it; another credential is still admitted", async () => {
    const { token, resolve } = await world({ burst: 2 });
    const other = await world({ burst: 2 });
    for (let used = 0; used < 2; used += 1) {
      expect((await resolve(bearer(token))).context).toMatchObject({ purpose: "support" });
    }
    const { context: refused, headers } = await resolve(bearer(token));
    expect(wire(refused)).toMatchObject({
      status: 429,
      code: "rate_limited",
      message: "Too many requests with this credential.",
    });
    expect(headers["retry-after"]).toBe("1");
    expect(headers["ratelimit"]).toBe('"default";r=0;t=1');
    expect(headers["ratelimit-policy"]).toBe('"default";q=2;w=2');
    expect((await other.resolve(bearer(other.token))).context).toMatchObject({ purpose: "support" });
  });
});

test("a subject of an identity provider who uses up their rate in one tenant has theirs in another", async () => {
  const provider = await identityProvider();
  const { resolve } = await world({ burst: 1, jwt: createJwtVerifier(trusting(provider)) });
  const [here, there] = [await provider.sign({ tenant: "here" }), await provider.sign({ tenant: "there" })];
  expect((await resolve(bearer(here))).context).toMatchObject({ namespaceId: "here" });
  expect(wire((await resolve(bearer(here))).context)).toMatchObject({ status: 429 });
  expect((await resolve(bearer(there))).context).toMatchObject({ namespaceId: "there" });
});

test("every context fits the contract", async () => {
  const { token, resolve } = await world();
  expect(DiscoveryContextSchema.safeParse((await resolve(bearer(token))).context).success).toBe(true);
});
