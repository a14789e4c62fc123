import { describe, expect, test } from "vitest";
import { hintsAbout } from "./name-hints.ts";

const now = new Date("2026-01-01T00:00:00Z");
const names = {
  tenant: { isKnown: true },
  toolNamespaces: ["files", "messages"],
  resources: [
    { namespace: "files", actions: ["list", "read"] },
    { namespace: "tickets", actions: ["*"] },
  ],
};
const everyAction = { ...names, resources: [{ namespace: "mail", actions: ["*", "send"] }] };
const unknown = { ...names, tenant: { isKnown: false } };
const mistyped = { ...names, tenant: { isKnown: false, nearest: "acme" } };

describe("what is probably a mistake is said with the nearest name", () => {
  for (const row of [
    {
      name: "a tenant",
      given: hintsAbout({ tenant: "acne" }, mistyped, now),
      says: ["--tenant acne: nothing on this host is of such a tenant. Did you mean acme?"],
    },
    {
      name: "a tenant like no other",
      given: hintsAbout({ tenant: "zzz" }, unknown, now),
      says: ["--tenant zzz: nothing on this host is of such a tenant."],
    },
    {
      name: "a tenant that would begin, and is like another",
      given: hintsAbout({ tenant: "acne", mayBeNew: true }, mistyped, now),
      says: ["--tenant acne: nothing on this host is of such a tenant. Did you mean acme?"],
    },
    {
      name: "a tenant that is a word of the command",
      given: hintsAbout({ tenant: "acne", isTenantWord: true }, mistyped, now),
      says: ["acne: nothing on this host is of such a tenant. Did you mean acme?"],
    },
    {
      name: "a tenant to an operator who may know nothing but tenants",
      given: hintsAbout(
        { tenant: "acne", resource: "fiels", actions: ["raed"], toolNamespaces: ["fiels"] },
        { tenant: mistyped.tenant },
        now,
      ),
      says: ["--tenant acne: nothing on this host is of such a tenant. Did you mean acme?"],
    },
    {
      name: "a tool namespace",
      given: hintsAbout({ tenant: "acme", toolNamespaces: ["files", "fiels"] }, names, now),
      says: ["fiels: this host knows no such tool namespace. Did you mean files?"],
    },
    {
      name: "a resource namespace",
      given: hintsAbout({ tenant: "acme", resource: "file/notes", actions: ["read"] }, names, now),
      says: ["--resource file: this host knows no such resource namespace. Did you mean files?"],
    },
    {
      name: "a resource namespace like no other",
      given: hintsAbout({ tenant: "acme", resource: "invoices" }, names, now),
      says: ["--resource invoices: this host knows no such resource namespace. It knows files, tickets."],
    },
    {
      name: "an action",
      given: hintsAbout({ tenant: "acme", resource: "files/a", actions: ["raed", "list"] }, names, now),
      says: ["--action raed: this host knows no such action in files. Did you mean read?"],
    },
    {
      name: "an action where a grant has every action",
      given: hintsAbout({ tenant: "acme", resource: "mail", actions: ["sned", "archive"] }, everyAction, now),
      says: ["--action sned: this host knows no such action in mail. Did you mean send?"],
    },
    {
      name: "a time that has passed",
      given: hintsAbout({ expires: "2025-12-31T23:59:59Z" }, undefined, now),
      says: ["--expires 2025-12-31T23:59:59Z has passed: what ends then is never used."],
    },
  ]) {
    test(row.name, () => {
      expect(row.given).toEqual(row.says);
    });
  }
});

describe("nothing is said of", () => {
  for (const row of [
    {
      name: "names that are known",
      given: { tenant: "acme", resource: "files", actions: ["read"], toolNamespaces: ["files"] },
    },
    { name: "every action", given: { tenant: "acme", resource: "files/a", actions: ["*"] } },
    {
      name: "any action where a grant has every action",
      given: { tenant: "acme", resource: "tickets", actions: ["close"] },
    },
    { name: "a time to come", given: { expires: "2026-01-01T00:00:01Z" } },
    { name: "a span", given: { expires: "1h" } },
  ]) {
    test(row.name, () => {
      expect(hintsAbout(row.given, names, now)).toEqual([]);
    });
  }

  test("a tenant that begins and is like no other", () => {
    expect(hintsAbout({ tenant: "new", mayBeNew: true }, unknown, now)).toEqual([]);
  });

  test("names when the host does not tell which it knows", () => {
    expect(hintsAbout({ tenant: "acne", resource: "fiels", actions: ["raed"] }, undefined, now)).toEqual([]);
  });
});
