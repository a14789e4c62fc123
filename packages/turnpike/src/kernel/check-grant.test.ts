import { describe, expect, test } from "vitest";
import { child, grant, justAfter, justBefore, now, parent, stranger, untyped } from "../../test/decisions.ts";
import type { Grant } from "../contracts/index.ts";
import { memoryGrants, memoryUsage } from "../testing/index.ts";
import { checkGrant, type GrantCheck } from "./check-grant.ts";
import type { GrantSource } from "./ports.ts";

const root = { kind: "valid", parents: [] };
const broken = { kind: "invalid", parents: ["parent"], rule: "parent_missing" };

describe("a grant by itself", () => {
  const rows: { name: string; grant: Grant; purpose?: string; state: string; chain?: object }[] = [
    { name: "of any issuer is live", grant: grant(), state: "live" },
    { name: "that is issued later is not", grant: grant({ issuedAt: justAfter }), state: "not-issued" },
    {
      name: "that begins later is not",
      grant: grant({ constraints: { notBefore: justAfter } }),
      state: "not-yet-valid",
    },
    { name: "that ended is not", grant: grant({ constraints: { expiresAt: now } }), state: "expired" },
    { name: "that was revoked is not", grant: grant({ revokedAt: justBefore }), state: "revoked" },
    {
      name: "for other purposes is live when no purpose is asked for",
      grant: grant({ constraints: { purposes: ["billing"] } }),
      state: "live",
    },
    {
      name: "for other purposes is not live for this one",
      grant: grant({ constraints: { purposes: ["billing"] } }),
      purpose: "reporting",
      state: "purpose",
    },
    { name: "without its parent is invalid", grant: child(), state: "invalid", chain: broken },
    {
      name: "that was revoked and lost its parent is revoked, and its chain is walked all the same",
      grant: child({ revokedAt: now }),
      state: "revoked",
      chain: broken,
    },
    { name: "that was used up is exhausted", grant: grant({ constraints: { maxUses: 1 } }), state: "exhausted" },
    { name: "that has a use left is live", grant: grant({ constraints: { maxUses: 2 } }), state: "live" },
    {
      name: "that fits no contract cannot be told about",
      grant: untyped<Grant>({ ...grant(), capabilities: [] }),
      state: "unknown",
      chain: { kind: "unverified", parents: [] },
    },
  ];
  for (const { name, grant: one, purpose, state, chain = root } of rows) {
    test(name, async () => {
      const usage = memoryUsage();
      await usage.consume(one.namespaceId, one.id, 1);
      const ports = { grants: memoryGrants([]), usage };
      expect(await checkGrant(ports, one, { now, ...(purpose !== undefined && { purpose }) })).toEqual({
        state,
        chain,
      });
      expect(await usage.used(one.namespaceId, one.id)).toBe(1);
    });
  }

  test("for purposes that its parent lacks is invalid, whichever of them is asked for", async () => {
    const ports = { grants: memoryGrants([parent({ constraints: { delegationDepth: 1, purposes: ["reporting"] } })]) };
    const one = child({ constraints: { purposes: ["reporting", "billing"] } });
    const ruleFor = async (purpose?: string): Promise<unknown> => {
      const { state, chain } = await checkGrant(ports, one, { now, ...(purpose !== undefined && { purpose }) });
      return [state, chain.kind === "invalid" && chain.rule];
    };
    expect(await ruleFor()).toEqual(["invalid", "purposes_exceed_parent"]);
    expect(await ruleFor("reporting")).toEqual(["invalid", "purposes_exceed_parent"]);
    expect(await ruleFor("billing")).toEqual(["invalid", "parent_inactive"]);
  });

  for (const row of [
    { name: "whose issuer does not hold its parent", parent: parent({ subject: stranger }), rule: "parent_not_held" },
    {
      name: "whose parent is revoked",
      parent: parent({ revokedAt: now, constraints: { delegationDepth: 1 } }),
      rule: "parent_inactive",
    },
  ]) {
    test(`${row.name} is invalid: ${row.rule}`, async () => {
      const found = await checkGrant({ grants: memoryGrants([row.parent]) }, child(), { now });
      expect(found).toEqual({ state: "invalid", chain: { kind: "invalid", parents: ["parent"], rule: row.rule } });
    });
  }

  const down = { load: () => Promise.resolve([]), find: () => Promise.reject(new Error("down")) } satisfies GrantSource;
  const unreadable: { name: string; check: () => Promise<GrantCheck> }[] = [
    { name: "whose parent", check: () => checkGrant({ grants: down }, child(), { now }) },
    {
      name: "whose uses",
      check: () => checkGrant({ grants: down }, grant({ constraints: { maxUses: 1 } }), { now }),
    },
  ];
  for (const { name, check } of unreadable) {
    test(`${name} cannot be read cannot be told about`, async () => {
      expect((await check()).state).toBe("unknown");
    });
  }

  test("at a time that is none is never live", async () => {
    expect((await checkGrant({ grants: memoryGrants([]) }, grant(), { now: "noon" })).state).not.toBe("live");
  });
});
