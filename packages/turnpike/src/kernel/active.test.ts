import { describe, expect, test } from "vitest";
import { capability, grant, justAfter, justBefore, now, untyped } from "../../test/decisions.ts";
import type { Grant } from "../contracts/index.ts";
import { CompiledGrant, compileGrant, compileOnce, inactivity, prepareGrant } from "./active.ts";

const noon = Date.UTC(2026, 0, 1, 12);

function compiled(changes: Partial<Grant> = {}): CompiledGrant {
  const found = compileGrant(grant(changes));
  if (found === undefined) throw new Error("The grant of this test does not fit the contract.");
  return found;
}

test("asked about without a purpose, a grant is live for any of its own", () => {
  const found = compiled({ constraints: { purposes: ["billing"], expiresAt: justAfter } });
  expect(inactivity(found, noon)).toBeUndefined();
  expect(inactivity(found, noon, "reporting")).toBe("purpose");
  expect(inactivity(found, noon + 1000)).toBe("expired");
});

describe("at noon, for reporting, a grant", () => {
  const rows: { name: string; changes: Partial<Grant>; inactive?: string }[] = [
    { name: "without constraints is live", changes: {} },
    { name: "issued at this instant is live", changes: { issuedAt: now } },
    { name: "issued an instant later is not issued", changes: { issuedAt: justAfter }, inactive: "not-issued" },
    { name: "valid from this instant is live", changes: { constraints: { notBefore: now } } },
    {
      name: "valid from an instant later is not yet valid",
      changes: { constraints: { notBefore: justAfter } },
      inactive: "not-yet-valid",
    },
    { name: "that expires an instant later is live", changes: { constraints: { expiresAt: justAfter } } },
    {
      name: "that expires at this instant is expired",
      changes: { constraints: { expiresAt: now } },
      inactive: "expired",
    },
    {
      name: "that expired an instant before is expired",
      changes: { constraints: { expiresAt: justBefore } },
      inactive: "expired",
    },
    { name: "revoked an instant later is live", changes: { revokedAt: justAfter } },
    { name: "revoked at this instant is revoked", changes: { revokedAt: now }, inactive: "revoked" },
    { name: "revoked an instant before is revoked", changes: { revokedAt: justBefore }, inactive: "revoked" },
    { name: "for this purpose among others is live", changes: { constraints: { purposes: ["billing", "reporting"] } } },
    {
      name: "for another purpose is not for this one",
      changes: { constraints: { purposes: ["billing"] } },
      inactive: "purpose",
    },
    {
      name: "for a purpose in other letters is not for this one",
      changes: { constraints: { purposes: ["Reporting"] } },
      inactive: "purpose",
    },
    {
      name: "for a purpose that begins alike is not for this one",
      changes: { constraints: { purposes: ["reporting "] } },
      inactive: "purpose",
    },
    {
      name: "whose window has no length is never live",
      changes: { constraints: { notBefore: now, expiresAt: now } },
      inactive: "expired",
    },
    {
      name: "valid from this instant, written with an offset, is live",
      changes: { constraints: { notBefore: "2026-01-01T14:00:00+02:00" } },
    },
    {
      name: "valid from a text that sorts earlier and a time that is later is not yet valid",
      changes: { constraints: { notBefore: "2026-01-01T11:30:00-01:00" } },
      inactive: "not-yet-valid",
    },
    {
      name: "that expires at a text that sorts earlier and a time that is later is live",
      changes: { constraints: { expiresAt: "2026-01-01T11:30:00-01:00" } },
    },
    {
      name: "that expires at this instant, written with an offset, is expired",
      changes: { constraints: { expiresAt: "2026-01-01T07:00:00-05:00" } },
      inactive: "expired",
    },
    {
      name: "revoked at a text that sorts later and a time that is earlier is revoked",
      changes: { revokedAt: "2026-01-01T13:30:00+02:00" },
      inactive: "revoked",
    },
    {
      name: "issued at a text that sorts later and a time that is earlier is live",
      changes: { issuedAt: "2026-01-01T13:30:00+02:00" },
    },
    {
      name: "that expires a tenth of a millisecond later is live",
      changes: { constraints: { expiresAt: "2026-01-01T12:00:00.0001Z" } },
    },
    {
      name: "that fails everything is first of all not issued",
      changes: {
        issuedAt: justAfter,
        revokedAt: justBefore,
        constraints: { notBefore: justAfter, expiresAt: justAfter, purposes: ["x"] },
      },
      inactive: "not-issued",
    },
    {
      name: "that is early, revoked and for another purpose is first of all not yet valid",
      changes: { revokedAt: now, constraints: { notBefore: justAfter, purposes: ["x"] } },
      inactive: "not-yet-valid",
    },
    {
      name: "that is expired, revoked and for another purpose is first of all expired",
      changes: { revokedAt: now, constraints: { expiresAt: now, purposes: ["x"] } },
      inactive: "expired",
    },
    {
      name: "that is revoked and for another purpose is first of all revoked",
      changes: { revokedAt: now, constraints: { purposes: ["x"] } },
      inactive: "revoked",
    },
  ];
  for (const { name, changes, inactive } of rows) {
    test(`${name}`, () => {
      expect(inactivity(compiled(changes), noon, "reporting")).toBe(inactive);
    });
  }
});

for (const row of [
  { name: "without constraints", changes: {} },
  { name: "with a window", changes: { constraints: { notBefore: justBefore, expiresAt: justAfter } } },
  { name: "for this purpose", changes: { constraints: { purposes: ["reporting"] } } },
  { name: "revoked later", changes: { revokedAt: justAfter } },
] satisfies { name: string; changes: Partial<Grant> }[]) {
  test(`a grant ${row.name} is not live at a time that is no number`, () => {
    expect(inactivity(compiled(row.changes), Number.NaN, "reporting")).toBeDefined();
  });
}

for (const bound of ["issuedAt", "notBefore", "expiresAt", "revokedAt"] as const) {
  test(`a grant whose ${bound} is no number is not live`, () => {
    const held = grant();
    const unread = bound.endsWith("edAt") ? { [bound]: "noon" } : { constraints: { [bound]: "noon" } };
    expect(inactivity(new CompiledGrant({ ...held, ...unread }), noon, "reporting")).toBeDefined();
  });
}

describe("compiling a grant", () => {
  const misfits: { name: string; value: unknown }[] = [
    { name: "nothing", value: undefined },
    { name: "null", value: null },
    { name: "a text", value: "grant-1" },
    { name: "an empty object", value: {} },
    { name: "a grant without capabilities", value: grant({ capabilities: [] }) },
    { name: "a grant with an unknown key", value: { ...grant(), admin: true } },
    { name: "a grant with a day for a time", value: grant({ issuedAt: "2026-01-01" }) },
    {
      name: "a grant whose window ends before it starts",
      value: grant({ constraints: { notBefore: justAfter, expiresAt: now } }),
    },
    { name: "a frozen grant that does not fit", value: Object.freeze(grant({ id: "" })) },
  ];
  for (const { name, value } of misfits) {
    test(`${name} does not compile`, () => {
      expect(compileGrant(untyped(value))).toBeUndefined();
    });
  }

  test("a grant turns into the numbers that decisions compare", () => {
    const source = grant({
      issuedAt: "2026-01-01T00:00:00Z",
      revokedAt: "2026-01-02T00:00:00Z",
      constraints: {
        notBefore: "2026-01-01T01:00:00+01:00",
        expiresAt: "2026-01-03T00:00:00Z",
        maxUses: 3,
        purposes: ["reporting"],
      },
    });
    const found = compileGrant(source);
    expect(found?.grant).toEqual(source);
    expect(found?.maxUses).toBe(3);
    expect(found?.window).toEqual({
      issuedAt: Date.UTC(2026, 0, 1),
      notBefore: Date.UTC(2026, 0, 1),
      expiresAt: Date.UTC(2026, 0, 3),
      revokedAt: Date.UTC(2026, 0, 2),
    });
  });

  test("a grant that is not expected again is neither frozen nor remembered", () => {
    const frozen = Object.freeze(grant());
    const once = compileOnce(frozen);
    expect(once?.grant).toEqual(frozen);
    expect(Object.isFrozen(frozen.capabilities)).toBe(false);
    frozen.capabilities.push(capability({ namespace: "vault" }));
    expect(once?.grant.capabilities).toHaveLength(1);
    expect(compileOnce(frozen)?.grant.capabilities).toHaveLength(2);
  });

  test("a frozen grant is compiled once", () => {
    const frozen = Object.freeze(grant());
    expect(compileGrant(frozen)).toBe(compileGrant(frozen));
  });

  test("a grant that is not frozen is compiled each time, as it is then", () => {
    const mutable = grant();
    expect(compileGrant(mutable)?.maxUses).toBeUndefined();
    mutable.constraints = { maxUses: 1 };
    expect(compileGrant(mutable)?.maxUses).toBe(1);
  });

  test("a grant frozen only at its surface cannot be changed below it either", () => {
    const shallow = Object.freeze(grant({ constraints: { expiresAt: now } }));
    compileGrant(shallow);
    expect(() => {
      shallow.constraints.expiresAt = justAfter;
    }).toThrow(TypeError);
    expect(compileGrant(shallow)?.window.expiresAt).toBe(noon);
  });

  test("what was compiled does not change with the grant it came from", () => {
    const mutable = grant();
    const before = compileGrant(mutable);
    mutable.capabilities.push(capability({ namespace: "vault" }));
    expect(before?.grant.capabilities).toHaveLength(1);
  });
});

test("a frozen grant is compiled when it is prepared, and one that fits no contract is left to the decision", () => {
  const shallow = Object.freeze({ ...grant() });
  prepareGrant(shallow);
  // What a compiled grant holds is frozen with it.
  expect(Object.isFrozen(shallow.capabilities)).toBe(true);
  const misfit = Object.freeze(untyped<Grant>({ id: "" }));
  prepareGrant(misfit);
  expect(compileGrant(misfit)).toBeUndefined();
});
