import { describe, expect, test } from "vitest";
import { identify } from "./identify.ts";
import { providersOf, SignInConfigSchema, type ProviderConfig } from "./sign-in-config.ts";

const base = { issuer: "https://id.example", clientId: "turnpike" };
const den = {
  resource: { namespace: "files", path: ["den", "{subject}"] },
  actions: ["read"],
  scope: "descendants",
};
const configured = (settings: object): ProviderConfig => {
  const [config] = providersOf(SignInConfigSchema.parse({ ...base, ...settings }));
  if (config === undefined) throw new Error("There is no provider.");
  return config;
};
const claims = (more: object = {}) => ({ iss: "https://id.example", sub: "alice", ...more });

test("a person is who the provider says, behind the prefix of the provider, with what everyone holds", () => {
  const people = { tenant: "acme", subject: { claim: "email", prefix: "x-" }, purpose: "work", holds: [den] };
  const said = claims({ email: "alice@acme.example", name: "Alice" });
  expect(identify(configured({ people }), "person", said)).toEqual({
    ok: true,
    identity: {
      kind: "person",
      issuer: "https://id.example",
      providerSubject: "alice",
      namespaceId: "acme",
      principal: { kind: "human", userId: "x-alice@acme.example" },
      name: "Alice",
      access: {
        actor: { kind: "human", userId: "x-alice@acme.example" },
        owner: { kind: "human", userId: "x-alice@acme.example" },
        purposes: ["work"],
        signedIn: true,
      },
      holds: {
        issuer: { kind: "service", serviceId: "directory" },
        capabilities: [
          {
            resource: { namespace: "files", path: ["den", "x-alice@acme.example"] },
            actions: ["read"],
            scope: "descendants",
          },
        ],
      },
    },
  });
});

describe("a subject is refused", () => {
  const rows: { name: string; sub: unknown }[] = [
    { name: "with a slash", sub: "a/b" },
    { name: "with a backslash", sub: "a\\b" },
    { name: "that leads upwards", sub: ".." },
    { name: "that stays where it is", sub: "." },
    { name: "with a line break", sub: "a\nb" },
    { name: "with NUL", sub: "a\0" },
    { name: "with half of a character", sub: "a\uD800" },
    { name: "with a character that is not seen", sub: "alice\u200B" },
    { name: "that ends in white space", sub: "alice " },
    { name: "in another normal form", sub: "e\u0301" },
    { name: "of 257 characters", sub: "a".repeat(257) },
    { name: "that is empty", sub: "" },
    { name: "that is a number", sub: 1 },
    { name: "that is a list", sub: ["alice"] },
  ];
  for (const { name, sub } of rows)
    test(name, () => {
      const said = claims({ email: sub });
      const config = configured({ people: { tenant: "acme", subject: { claim: "email" } } });
      expect(identify(config, "person", said)).toEqual({ ok: false, reason: "no_subject" });
    });
  test("and taken when it is none of these", () => {
    const config = configured({ people: { tenant: "acme" } });
    expect(identify(config, "person", claims({ sub: "a".repeat(256) }))).toMatchObject({ ok: true });
  });
});

describe("a tenant from a claim", () => {
  const rows: { tenant: unknown; isTaken: boolean }[] = [
    { tenant: "acme", isTaken: true },
    { tenant: "operators", isTaken: false },
    { tenant: "", isTaken: false },
    { tenant: "a\0", isTaken: false },
    { tenant: ["acme"], isTaken: false },
    { tenant: undefined, isTaken: false },
  ];
  for (const { tenant, isTaken } of rows)
    test(`${JSON.stringify(tenant)} is ${isTaken ? "taken" : "refused"}`, () => {
      const config = configured({ people: { tenant: { claim: "org" } } });
      const found = identify(config, "person", claims({ org: tenant }));
      expect(found).toMatchObject(
        isTaken ? { ok: true, identity: { namespaceId: tenant } } : { ok: false, reason: "no_tenant" },
      );
    });
});

describe("an operator", () => {
  const operators = [
    { claim: "groups", value: "admins", role: "admin" },
    { claim: "groups", value: "desk", role: "reviewer", tenant: "acme" },
    { claim: "team", value: "audit", role: "auditor" },
  ];
  const rows: { name: string; said: object; scope: object | undefined }[] = [
    { name: "is what the first fitting rule says", said: { groups: ["desk", "admins"] }, scope: { role: "admin" } },
    { name: "of one tenant", said: { groups: ["desk"] }, scope: { role: "reviewer", tenant: "acme" } },
    { name: "by a claim that is one text", said: { team: "audit" }, scope: { role: "auditor" } },
    { name: "is no one whose groups only begin like one", said: { groups: ["admins2", "admin"] }, scope: undefined },
    { name: "is no one whose text only contains one", said: { groups: "admins desk" }, scope: undefined },
    { name: "is no one without the claim", said: {}, scope: undefined },
    { name: "is no one by a list within a list", said: { groups: [["admins"]] }, scope: undefined },
  ];
  for (const { name, said, scope } of rows)
    test(name, () => {
      const found = identify(configured({ operators }), "operator", claims(said));
      const alice = { kind: "human", userId: "alice" };
      const access = { actor: alice, owner: alice, purposes: ["operate"], signedIn: true, admin: true, ...scope };
      const identity = { namespaceId: "operators", access, holds: undefined };
      expect(found).toMatchObject(scope === undefined ? { ok: false, reason: "no_operator" } : { ok: true, identity });
    });
  test("is no person where no one is", () => {
    expect(identify(configured({ operators }), "person", claims())).toEqual({ ok: false, reason: "no_people" });
  });
});

describe("a configuration is", () => {
  const people = (settings: object = {}) => ({ people: { tenant: "acme", ...settings } });
  const named = (name: string, issuer: string, prefix: string, tenant: unknown = "acme") => ({
    issuer,
    clientId: "a",
    name,
    people: { tenant, subject: { prefix } },
  });
  const rows: { name: string; config: unknown; isTaken: boolean }[] = [
    { name: "one provider", config: { ...base, ...people() }, isTaken: true },
    {
      name: "a provider of this machine without TLS",
      config: { ...base, issuer: "http://localhost:1", ...people() },
      isTaken: true,
    },
    {
      name: "no provider of the network without TLS",
      config: { ...base, issuer: "http://id.example", ...people() },
      isTaken: false,
    },
    {
      name: "no name that only looks like this machine",
      config: { ...base, issuer: "http://127.0.0.1.evil.example", ...people() },
      isTaken: false,
    },
    {
      name: "no issuer with a password",
      config: { ...base, issuer: "https://a:b@id.example", ...people() },
      isTaken: false,
    },
    {
      name: "no issuer with a query",
      config: { ...base, issuer: "https://id.example?a", ...people() },
      isTaken: false,
    },
    { name: "nothing without anyone", config: base, isTaken: false },
    {
      name: "no people in the operators' tenant",
      config: { ...base, people: { tenant: "operators" } },
      isTaken: false,
    },
    {
      name: "no operators of the operators' tenant",
      config: { ...base, operators: [{ claim: "a", value: "b", role: "admin", tenant: "operators" }] },
      isTaken: false,
    },
    {
      name: "not operators alone without operators",
      config: { ...base, ...people(), operatorsOnly: true },
      isTaken: false,
    },
    {
      name: "no place that is half a name",
      config: {
        ...base,
        ...people({ holds: [{ ...den, resource: { namespace: "files", path: ["den-{subject}"] } }] }),
      },
      isTaken: false,
    },
    { name: "nothing granted by no one", config: { ...base, ...people({ issuer: "directory" }) }, isTaken: false },
    { name: "no scopes without openid", config: { ...base, ...people(), scopes: ["email"] }, isTaken: false },
    { name: "no list of no one", config: [], isTaken: false },
    {
      name: "two providers into one tenant with different prefixes",
      config: [named("A", "https://a.example", "a-"), named("B", "https://b.example", "b-")],
      isTaken: true,
    },
    {
      name: "two providers into two tenants",
      config: [named("A", "https://a.example", ""), named("B", "https://b.example", "", "beta")],
      isTaken: true,
    },
    {
      name: "not two providers into one tenant without prefixes",
      config: [named("A", "https://a.example", ""), named("B", "https://b.example", "")],
      isTaken: false,
    },
    {
      name: "no prefix that begins with the other",
      config: [named("A", "https://a.example", "a"), named("B", "https://b.example", "ab")],
      isTaken: false,
    },
    {
      name: "no tenant from a claim beside another",
      config: [named("A", "https://a.example", "", { claim: "org" }), named("B", "https://b.example", "")],
      isTaken: false,
    },
    {
      name: "no name twice",
      config: [named("A", "https://a.example", "a-"), named("A", "https://b.example", "b-")],
      isTaken: false,
    },
    {
      name: "no issuer twice",
      config: [named("A", "https://a.example", "a-"), named("B", "https://a.example", "b-")],
      isTaken: false,
    },
  ];
  for (const { name, config, isTaken } of rows)
    test(name, () => expect(SignInConfigSchema.safeParse(config).success).toBe(isTaken));
});
