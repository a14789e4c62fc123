import { describe, expect, test } from "vitest";
import { contextOf, fails } from "../../test/deployment.ts";
import {
  calling,
  callsInTurn,
  completed,
  dataOf,
  never,
  saidOf,
  toolsOf,
  turnWorldOf,
  typesOf,
  type TurnWorld,
} from "../../test/turns.ts";
import type { AuditEvent } from "../contracts/index.ts";
import { memoryAccess, scriptedDriver, type ScriptedStep } from "../testing/index.ts";
import type { RuntimePlugin } from "./plugin.ts";
import { standardRuntime } from "./standard.ts";

const access = contextOf();

describe("a turn whose access is revoked ends at once", () => {
  test("at its next call: denied, credential_revoked, and nothing more is done", async () => {
    const guard = memoryAccess();
    const { read, write } = toolsOf();
    let wentOn = false;
    const run: RuntimePlugin["run"] = async (_turn, host) => {
      await host.invokeTool(calling("call-1"));
      guard.revoke(access);
      const refused = await host.invokeTool(calling("call-2"));
      expect(saidOf(refused)).toBe("credential_revoked");
      wentOn = true;
      await host.invokeTool(calling("call-3", "files.write"));
      return completed();
    };
    const world = turnWorldOf(run, { tools: [read, write], access: guard });
    const result = await world.run();
    expect(result).toMatchObject({ status: "denied", error: { code: "credential_revoked", retryable: false } });
    expect(dataOf(result, "tool.completed")).toStrictEqual([
      { callId: "call-1", tool: "files.read", status: "succeeded" },
      { callId: "call-2", tool: "files.read", status: "denied", code: "credential_revoked" },
    ]);
    expect(typesOf(result).at(-1)).toBe("turn.denied");
    expect([wentOn, read.calls.length, write.calls.length]).toStrictEqual([true, 1, 0]);
    expect(world.events.at(-1)).toMatchObject({
      type: "turn.ended",
      outcome: "denied",
      reason: "credential_revoked",
    });
  });

  test("at its escalation", async () => {
    const guard = memoryAccess();
    const world = turnWorldOf(
      () => {
        guard.revoke(access);
        return Promise.resolve({ type: "escalate", reason: "May I?" });
      },
      { access: guard },
    );
    expect(await world.run()).toMatchObject({ status: "denied", error: { code: "credential_revoked" } });
    expect(world.events.map(({ type }) => type)).not.toContain("escalation.requested");
  });

  test("at its next step, before the driver is asked again", async () => {
    const guard = memoryAccess();
    const asked: string[] = [];
    const step = (name: string, then: ScriptedStep, meanwhile = (): void => {}): ScriptedStep => {
      return () => {
        asked.push(name);
        meanwhile();
        return then;
      };
    };
    const steps = [
      step("first", { type: "tools", calls: [{ tool: "files.read" }] }),
      step("second", { type: "complete", output: "done" }),
    ];
    const { read } = toolsOf();
    // The access goes while the tool runs, so that no further call notices it.
    const invoke: typeof read.invoke = (context, call, signal) => {
      guard.revoke(access);
      return read.invoke(context, call, signal);
    };
    const world = turnWorldOf(standardRuntime(scriptedDriver(steps)), {
      tools: [{ ...read, invoke }],
      access: guard,
    });
    expect(await world.run()).toMatchObject({ status: "denied", error: { code: "credential_revoked" } });
    expect(asked).toStrictEqual(["first"]);
    expect(world.turnErrors).toStrictEqual([]);
  });

  for (const { name, after } of [
    { name: "completes", after: (): ReturnType<RuntimePlugin["run"]> => Promise.resolve(completed()) },
    { name: "throws", after: (): ReturnType<RuntimePlugin["run"]> => Promise.reject(new Error("mine")) },
  ]) {
    test(`also with a plugin that does not wait for the call and ${name} while it is refused`, async () => {
      const guard = memoryAccess();
      guard.revoke(access);
      const audit = { record: ({ type }: AuditEvent) => (type === "tool.invoked" ? never() : Promise.resolve()) };
      const world = turnWorldOf(
        async (_turn, host) => {
          void host.invokeTool(calling("call-1"));
          for (let tick = 0; tick < 100; tick += 1) await undefined;
          return after();
        },
        { access: guard, audit },
      );
      expect(await world.run()).toMatchObject({ status: "denied", error: { code: "credential_revoked" } });
    });
  }

  test("and says that it must not be tried again once a write has run", async () => {
    const guard = memoryAccess();
    const run: RuntimePlugin["run"] = async (_turn, host) => {
      await host.invokeTool(calling("call-1", "files.write"));
      guard.revoke(access);
      await host.invokeTool(calling("call-2"));
      return completed();
    };
    expect(await turnWorldOf(run, { access: guard }).run()).toMatchObject({
      status: "denied",
      error: { code: "credential_revoked", retryable: false },
    });
  });
});

test("a guard that fails refuses the calls; the turn continues, and so do its steps", async () => {
  const world = turnWorldOf(
    async (_turn, host) => {
      const first = saidOf(await host.invokeTool(calling("call-1")));
      await host.beginStep();
      return completed([first, saidOf(await host.invokeTool(calling("call-2")))]);
    },
    { access: { check: fails } },
  );
  expect(await world.run()).toMatchObject({
    status: "succeeded",
    output: ["authority_unavailable", "authority_unavailable"],
  });
});

test("a namespace that is switched off while the turn runs takes its tools away, and the turn continues", async () => {
  const guard = memoryAccess();
  const world: TurnWorld = turnWorldOf(
    async (_turn, host) => {
      const first = saidOf(await host.invokeTool(calling("call-1")));
      guard.switchTo(access, ["service"]);
      return completed([first, saidOf(await host.invokeTool(calling("call-2")))]);
    },
    { access: guard },
  );
  expect(await world.run()).toMatchObject({ status: "succeeded", output: ["succeeded", "tool_unavailable"] });
});

test("a grant to run the agent that is revoked while the turn runs denies its calls, and the turn continues", async () => {
  const world: TurnWorld = turnWorldOf(async (turn, host, signal) => {
    world.grants.revoke("demo", "run", "2026-01-01T11:59:00Z");
    return callsInTurn(calling("call-1"), calling("call-2"))(turn, host, signal);
  });
  expect(await world.run()).toMatchObject({
    status: "succeeded",
    output: ["no_matching_grant", "no_matching_grant"],
  });
});
