import { describe, expect, test } from "vitest";
import type { ToolResult } from "turnpike/contracts";
import { TurnPause } from "turnpike/runtime";
import { databaseKinds, sharedDatabase } from "../../../test/databases.ts";
import { payingWorld, payment, wanting } from "../../../test/paying-turns.ts";
import { takeElsewhere, turnKey } from "../../../test/turn-journals.ts";
import { failingAt } from "../../../test/watched-database.ts";

// Turns whose runtime is given what is not durable yet, with the journal of a host: they cannot be told from others.

const statusOf = ([result]: readonly ToolResult[]): string | undefined =>
  result?.status === "failed" ? result.error.code : result?.status;

describe.each(databaseKinds)("a turn of a runtime that is pure on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const isPure of [true, false])
    test(`has its refused calls in the audit log in their order, as any other (${isPure ? "it" : "another"})`, async () => {
      const unknown = (id: string) => () => [payment(id, "bank.rob")];
      const driver = wanting(isPure, unknown("call-1"), () => [payment("call-2")], unknown("call-3"));
      const world = await payingWorld(await open(), driver);
      expect(await world.run("turn")).toMatchObject({ status: "succeeded" });
      expect(await world.auditLog()).toEqual([
        "tool.catalog.listed succeeded",
        "authorization.checked allowed",
        "turn.started allowed",
        "tool.invoked denied call-1",
        "authorization.checked allowed call-2",
        "tool.invoked succeeded call-2",
        "tool.invoked denied call-3",
        "turn.ended succeeded",
      ]);
    });

  test("stores the result of a call that it was given when it is stopped", async () => {
    const seen: unknown[] = [];
    const driver = wanting(
      true,
      () => [payment("call-1")],
      (results) => {
        seen.push(statusOf(results));
        if (seen.length === 1) world.journal.stopAll(new TurnPause("The host stops."));
        return [];
      },
    );
    const database = await open();
    const world = await payingWorld(database, driver);
    await expect(world.run("turn", { isAsync: true })).rejects.toThrow("The host stops.");
    const writer = await takeElsewhere(database, turnKey(world.namespaceId, "turn"));
    expect(await world.entries()).toContain("result");
    await world.run("turn", { isAsync: true, writer });
    expect(seen).toEqual(["succeeded", "succeeded"]);
    expect(world.paid).toEqual(["call-1"]);
    expect((await world.auditLog()).filter((line) => line.startsWith("tool.invoked"))).toEqual([
      "tool.invoked succeeded call-1",
    ]);
  });

  test("makes no call when another host has it by then", async () => {
    const database = await open();
    const driver = wanting(
      true,
      () => [payment("call-1")],
      async () => {
        await takeElsewhere(database, turnKey(world.namespaceId, "turn"));
        return [payment("call-2")];
      },
    );
    const world = await payingWorld(database, driver);
    await expect(world.run("turn", { isAsync: true })).rejects.toThrow(TurnPause);
    expect(world.paid).toEqual(["call-1"]);
    expect((await world.auditLog()).filter((line) => line.includes("call-2"))).toEqual([]);
  });

  for (const when of ["before", "after"] as const)
    test(`makes no call whose decision is not stored, and reports no end that is not, whichever commit fails ${when} it took effect`, async () => {
      const shared = await open();
      const driver = wanting(
        true,
        () => [payment("call-1")],
        () => [payment("call-2")],
      );
      const ended = new Set<string>();
      for (let nth = 2; nth < 10; nth += 1) {
        // The first commit is that of the grant.
        const failing = failingAt(shared, nth, when, { of: "commit", code: "ECONNRESET" });
        const world = await payingWorld(failing, driver);
        const { status } = await world.run("turn").catch(() => ({ status: "not begun" }));
        await world.journal.close();
        ended.add(status);
        const [log, entries] = [await world.auditLog(), await world.entries()];
        expect(world.paid.filter((id) => !log.includes(`authorization.checked allowed ${id}`))).toEqual([]);
        expect(entries.filter((entry) => entry === "call").length).toBeGreaterThanOrEqual(world.paid.length);
        expect(entries.includes("ended")).toBe(status === "succeeded" || entries.includes("turn.completed"));
      }
      expect([...ended].toSorted()).toEqual(["failed", "not begun", "succeeded"]);
    });
});
