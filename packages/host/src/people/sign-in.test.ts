import { describe, expect, test } from "vitest";
import { SignInRefusedError } from "./provider.ts";
import {
  beginSignIn,
  destinationOf,
  isAnswerTo,
  providerSessionEnd,
  readBegun,
  secretsOf,
  writeBegun,
} from "./sign-in.ts";

const noon = new Date("2026-01-01T12:00:00.000Z");
const later = (ms: number): Date => new Date(noon.getTime() + ms);

describe("a sign-in leads", () => {
  const rows: { to: string; kind: "operator" | "person" | undefined }[] = [
    { to: "/console", kind: "operator" },
    { to: "/console/", kind: "operator" },
    { to: "/console/acme/turns?filter=1", kind: "operator" },
    { to: "/console/a%2Fb/now", kind: "operator" },
    { to: "/me", kind: "person" },
    { to: "/consent/abc", kind: "person" },
    { to: "/", kind: undefined },
    { to: "", kind: undefined },
    { to: "console", kind: undefined },
    { to: "/consoles", kind: undefined },
    { to: "/mean", kind: undefined },
    { to: "//evil.example/console", kind: undefined },
    { to: "/\\evil.example/console", kind: undefined },
    { to: "\\\\evil.example/console", kind: undefined },
    { to: "/console/../../evil", kind: undefined },
    { to: "/console/..", kind: undefined },
    { to: "/console/%2e%2e/admin/v1/session", kind: undefined },
    { to: "/%63onsole", kind: undefined },
    { to: "https://evil.example/console", kind: undefined },
    { to: "https:/console", kind: undefined },
    { to: "javascript:alert(1)", kind: undefined },
    { to: "/console#code=1", kind: undefined },
    { to: "/console\r\nset-cookie: a=b", kind: undefined },
    { to: "/console\t", kind: undefined },
    { to: " /console", kind: undefined },
    { to: "/console @evil.example", kind: undefined },
    { to: "/admin/v1/session", kind: undefined },
    { to: "/sign-in?to=/console", kind: undefined },
  ];
  for (const { to, kind } of rows)
    test(`${kind === undefined ? "nowhere" : `as ${kind}`} with ${JSON.stringify(to)}`, () => {
      expect(destinationOf(to)).toEqual(kind && { kind, to });
    });
});

test("what the cookie holds is read as it was written, for ten minutes", () => {
  const begun = beginSignIn("Acme; <b>", "/console/acme?a=b", noon);
  expect(readBegun(writeBegun(begun), later(599_999))).toEqual(begun);
  expect(readBegun(writeBegun(begun), later(600_000))).toBeUndefined();
  expect(writeBegun(begun)).toMatch(/^[\w.-]+$/);
});

for (const cookie of [undefined, "", "a.b.c.d", `${"0".repeat(63)}.9.YQ.YQ`, `${"0".repeat(64)}.99999999999999.YQ.YQ`])
  test(`${JSON.stringify(cookie)} is no sign-in`, () => expect(readBegun(cookie, noon)).toBeUndefined());

test("whatever of a sign-in is another, its state, nonce and verifier are others, and none is like another", () => {
  const begun = beginSignIn("Acme", "/me", noon);
  const others = [
    beginSignIn("Acme", "/me", noon),
    { ...begun, provider: "Evil" },
    { ...begun, to: "/console" },
    { ...begun, expiresAt: begun.expiresAt + 1 },
  ];
  const all = [begun, ...others].flatMap((one) => Object.values(secretsOf(one)));
  expect(new Set(all).size).toBe(15);
  expect(isAnswerTo(begun, secretsOf(begun).state)).toBe(true);
  for (const other of others) expect(isAnswerTo(begun, secretsOf(other).state)).toBe(false);
  expect(isAnswerTo(begun, "")).toBe(false);
  expect(secretsOf(begun).verifier).toMatch(/^[\w-]{43,128}$/);
});

describe("a provider's session", () => {
  const endOf = (said?: unknown) =>
    providerSessionEnd({ iss: "https://id.example", sub: "alice", session_expiry: said }, noon);
  const seconds = noon.getTime() / 1000;

  test("ends when the ID token says so, or at a time that is not known", () => {
    expect(endOf()).toBeUndefined();
    expect(endOf(seconds + 60)).toEqual(later(60_000));
  });

  for (const said of [seconds, seconds - 60, 0, -1, 1e300, `${seconds + 60}`, null, true, {}])
    test(`signs no one in when its end is ${JSON.stringify(said)}`, () =>
      expect(() => endOf(said)).toThrow(SignInRefusedError));
});
