import { describe, expect, test } from "vitest";
import type { AuditEvent } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { createOperator } from "./operator.ts";

const oona = { kind: "human", userId: "oona" } as const;
const down = new Error("The disk is full.");

/** An operator, and what they leave in the audit log, which cannot be written for some events. */
function worldOf(isDown: (event: AuditEvent) => boolean = () => false) {
  const events: AuditEvent[] = [];
  const told: unknown[] = [];
  const audit = {
    record: async (event: AuditEvent): Promise<void> => {
      if (isDown(event)) throw down;
      events.push(event);
    },
  };
  const who = { id: "operator-1", actor: oona, role: "admin", requestId: "request-1" } as const;
  const operator = createOperator(who, audit, (error) => told.push(error));
  const said = () => events.map(({ outcome, action, reason }) => [outcome, action, reason]);
  return { operator, events, told, said };
}

const change = { namespaceId: "acme", action: "grant.issue", metadata: { note: "x" } };
const unavailable = { status: 503, code: "audit_unavailable" };

describe("a change by an operator", () => {
  test("is in the audit log before it is made, and its outcome afterwards, with who made it", async () => {
    const { operator, events, said } = worldOf();
    const made = await operator.change(change, async () => said());
    expect(made).toEqual([["allowed", "grant.issue", undefined]]);
    expect(said()).toEqual([...made, ["succeeded", "grant.issue", undefined]]);
    for (const event of events)
      expect(event).toMatchObject({
        type: "operator.changed",
        namespaceId: "acme",
        traceId: "request-1",
        actor: oona,
        owner: oona,
        purpose: "operate",
        metadata: { note: "x", operator: "operator-1" },
      });
  });

  for (const { error, reason } of [
    { error: new ServiceHttpError(409, "conflict", "It is there."), reason: "conflict" },
    { error: new Error("secret"), reason: "internal_error" },
  ])
    test(`that fails is in the audit log with the reason ${reason}, and nothing more of the error`, async () => {
      const { operator, events, said } = worldOf();
      await expect(operator.change(change, () => Promise.reject(error))).rejects.toBe(error);
      expect(said()).toEqual([
        ["allowed", "grant.issue", undefined],
        ["failed", "grant.issue", reason],
      ]);
      expect(JSON.stringify(events)).not.toContain("secret");
    });

  test("that cannot be recorded is not made, and the host does not try to record that", async () => {
    const { operator, told } = worldOf(() => true);
    let isMade = false;
    const making = operator.change(change, async () => (isMade = true));
    await expect(making).rejects.toMatchObject({ ...unavailable, cause: down });
    expect([isMade, told]).toEqual([false, []]);
  });

  test("whose outcome cannot be recorded is made, and the failure is reported", async () => {
    const { operator, told } = worldOf(({ outcome }) => outcome === "succeeded");
    expect(await operator.change(change, async () => "made")).toBe("made");
    expect(told).toEqual([down]);
  });
});

describe("changes that are made together", () => {
  const many = Array.from({ length: 201 }, (_, place) => ({ namespaceId: "acme", action: `change-${place}` }));

  test("are in the audit log one by one, however many they are, before the first is made", async () => {
    const { operator, said } = worldOf();
    const before = await operator.changeAll(many, async () => said());
    expect(before).toEqual(many.map(({ action }) => ["allowed", action, undefined]));
    expect(said().slice(201)).toEqual(many.map(({ action }) => ["succeeded", action, undefined]));
  });

  test("are not made when one cannot be recorded, which the audit log says of all where it can", async () => {
    const { operator, told, said } = worldOf(({ action }) => action === "change-150");
    let isMade = false;
    await expect(operator.changeAll(many, async () => (isMade = true))).rejects.toMatchObject(unavailable);
    expect([isMade, told]).toEqual([false, [down]]);
    const failed = said().filter(([outcome]) => outcome === "failed");
    expect(failed).toHaveLength(200);
    expect(failed[0]).toEqual(["failed", "change-0", "audit_unavailable"]);
  });
});
