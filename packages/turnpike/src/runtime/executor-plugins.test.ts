import { describe, expect, test } from "vitest";
import {
  agent,
  capability,
  contextOf,
  envelopeOf,
  fails,
  grantOf,
  portSecret,
  runAgent,
  untyped,
} from "../../test/deployment.ts";
import { calling, completed, recordingRun, ticks, toolOf, turnWorldOf, typesOf, saidOf } from "../../test/turns.ts";
import type { JsonValue, PrincipalRef, TurnEvent } from "../contracts/index.ts";
import { DriverError, type RuntimeOutcome, type RuntimePlugin, type RuntimeTurn } from "./plugin.ts";
import { standardRuntime, type TurnDriver } from "./standard.ts";

describe("a plugin that misbehaves", () => {
  const throwing: { name: string; run: RuntimePlugin["run"] }[] = [
    { name: "rejects", run: () => fails() },
    {
      name: "throws synchronously",
      run() {
        throw new Error(portSecret);
      },
    },
    {
      name: "throws after a call",
      async run(_turn, host) {
        await host.invokeTool(calling("call-1"));
        throw new Error(portSecret);
      },
    },
  ];
  for (const { name, run } of throwing) {
    test(`${name}: failed runtime_failed; the operator gets the error, the caller the code`, async () => {
      const world = turnWorldOf(run);
      const result = await world.run();
      expect(result).toMatchObject({ status: "failed", error: { code: "runtime_failed", retryable: true } });
      expect(JSON.stringify([result, world.events])).not.toContain(portSecret);
      expect(world.turnErrors).toMatchObject([{ error: { message: portSecret }, executionId: "turn-1" }]);
    });
  }

  test("an onTurnError that throws changes nothing", async () => {
    const world = turnWorldOf(() => fails(), {
      executor: {
        onTurnError() {
          throw new Error("observer");
        },
      },
    });
    expect(saidOf(await world.run())).toBe("runtime_failed");
  });

  test("an onTurnError that rejects changes nothing and leaves no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", onUnhandled);
    try {
      const world = turnWorldOf(() => fails(), { executor: { onTurnError: () => fails() } });
      expect(saidOf(await world.run())).toBe("runtime_failed");
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toStrictEqual([]);
    } finally {
      process.off("unhandledRejection", onUnhandled);
    }
  });

  const broken = new Error(portSecret);
  const throwsIt = (): never => {
    throw broken;
  };
  const drivers: { name: string; open: TurnDriver["open"] }[] = [
    { name: "open throws", open: throwsIt },
    { name: "open rejects", open: () => Promise.reject(broken) },
    { name: "next throws", open: () => Promise.resolve({ next: throwsIt }) },
    { name: "next rejects", open: () => Promise.resolve({ next: () => Promise.reject(broken) }) },
  ];
  for (const { name, open } of drivers) {
    test(`a driver whose ${name}: failed driver_failed; the operator gets the driver's own error`, async () => {
      const world = turnWorldOf(standardRuntime({ open }));
      const result = await world.run();
      expect(result).toMatchObject({ status: "failed", error: { code: "driver_failed" } });
      expect(JSON.stringify([result, world.events])).not.toContain(portSecret);
      expect(world.turnErrors).toHaveLength(1);
      expect(world.turnErrors[0]?.error).toBe(broken);
    });
  }

  test("a runtime of the host's own says by a DriverError that its driver failed", async () => {
    const error = new DriverError(broken);
    expect(error).toMatchObject({ name: "DriverError", message: "The driver failed.", cause: broken });
    const world = turnWorldOf(() => Promise.reject(error));
    expect(saidOf(await world.run())).toBe("driver_failed");
    expect(world.turnErrors).toStrictEqual([{ error: broken, executionId: "turn-1" }]);
  });

  const nonsense: { name: string; outcome: unknown }[] = [
    { name: "nothing", outcome: undefined },
    { name: "null", outcome: null },
    { name: "a word", outcome: "complete" },
    { name: "the word that the executor uses for an audit outage", outcome: "audit_unavailable" },
    { name: "an empty object", outcome: {} },
    { name: "an unknown type", outcome: { type: "succeeded", output: 1 } },
    { name: "complete without output", outcome: { type: "complete" } },
    { name: "an output that is no JSON", outcome: { type: "complete", output: Number.NaN } },
    { name: "an output with a function in it", outcome: { type: "complete", output: { go: () => 1 } } },
    { name: "metadata that is no object", outcome: { type: "complete", output: 1, metadata: [1] } },
    { name: "fail without an error", outcome: { type: "fail" } },
    { name: "fail with a word", outcome: { type: "fail", error: "broken" } },
    { name: "an error without a message", outcome: { type: "fail", error: { code: "x", message: "" } } },
    { name: "an error with an unknown key", outcome: { type: "fail", error: { code: "x", message: "x", stack: "x" } } },
    { name: "escalate without a reason", outcome: { type: "escalate" } },
    {
      name: "escalate with an ask that asks for nothing",
      outcome: { type: "escalate", reason: "x", requestedAuthority: { capabilities: [] } },
    },
    { name: "escalate with null for an ask", outcome: { type: "escalate", reason: "x", requestedAuthority: null } },
  ];
  for (const { name, outcome } of nonsense) {
    test(`returns ${name}: failed invalid_runtime_outcome`, async () => {
      const result = await turnWorldOf(() => Promise.resolve(untyped<RuntimeOutcome>(outcome))).run();
      expect(result).toMatchObject({ status: "failed", error: { code: "invalid_runtime_outcome", retryable: false } });
      expect(typesOf(result)).toStrictEqual(["turn.started", "turn.failed"]);
    });
  }
});

test("hundreds of turns at once on one plugin do not mix", async () => {
  const read = toolOf("files.read", { work: async (call) => (await ticks(Number(call.id.slice(5)) % 7), call.id) });
  const world = turnWorldOf(
    async (turn, host) => {
      const mark = Number(turn.executionId.slice(5));
      await ticks(mark % 11);
      host.emit({ type: "mark", data: mark });
      const results = await Promise.all([host.invokeTool(calling(`call-${mark}`)), host.invokeTool(calling("call-0"))]);
      return completed([
        turn.message.payload,
        ...results.map((result) => ("output" in result ? result.output : result.error.code)),
      ]);
    },
    { tools: [read] },
  );
  const marks = Array.from({ length: 400 }, (_, place) => place + 1);
  const seen = new Map<string, TurnEvent[]>();
  const results = await Promise.all(
    marks.map((mark) =>
      world.run(
        { executionId: `turn-${mark}`, message: envelopeOf({ receiver: agent, payload: mark }) },
        { onEvent: (event) => seen.set(event.executionId, [...(seen.get(event.executionId) ?? []), event]) },
      ),
    ),
  );
  for (const [place, result] of results.entries()) {
    const mark = place + 1;
    expect(result).toMatchObject({
      executionId: `turn-${mark}`,
      status: "succeeded",
      output: [mark, `call-${mark}`, "call-0"],
    });
    expect(result.events.map(({ sequence }) => sequence)).toStrictEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(new Set(result.events.map(({ executionId }) => executionId))).toStrictEqual(new Set([`turn-${mark}`]));
    expect(seen.get(`turn-${mark}`)).toStrictEqual(result.events);
  }
});

/** The places in a value that are not frozen. */
function unfrozen(value: unknown, path = "turn"): string[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([key, part]) => unfrozen(part, `${path}.${key}`));
  return Object.isFrozen(value) ? below : [path, ...below];
}

describe("what a plugin is given", () => {
  const request = { metadata: { channel: ["cli"] }, state: { deep: { list: [{ one: 1 }] } }, options: { maxSteps: 2 } };

  test("is frozen to its last leaf, and is not the caller's own", async () => {
    const { run, given } = recordingRun();
    const state = { deep: { list: [{ one: 1 }] } };
    await turnWorldOf(run).run({ ...request, state });
    expect(given.flatMap(({ turn, host }) => [...unfrozen(turn), ...unfrozen(host, "host")])).toStrictEqual([]);
    expect(Object.isFrozen(state.deep)).toBe(false);
  });

  test("is the request, the visible tools, reach and limits, and a host of three effects and two reads", async () => {
    const { run, given } = recordingRun();
    await turnWorldOf(run).run(request);
    const [{ turn, host } = { turn: undefined, host: undefined }] = given;
    expect(Object.keys(turn ?? {}).toSorted()).toStrictEqual([
      "agent",
      "executionId",
      "limits",
      "message",
      "metadata",
      "options",
      "reach",
      "state",
      "tools",
      "version",
    ]);
    expect(turn?.tools.map(({ name }) => name)).toStrictEqual([
      "files.put",
      "files.read",
      "files.write",
      "service.escalate",
    ]);
    expect(turn?.reach).toMatchObject({
      status: "computed",
      reach: [{ namespace: "files" }, { namespace: "service" }, { namespace: "service.execution" }],
    });
    expect(Object.keys(host ?? {}).toSorted()).toStrictEqual([
      "beginStep",
      "emit",
      "invokeTool",
      "limits",
      "step",
      "waits",
    ]);
  });

  test("is nothing of the grants, the authority or the settings, neither at first nor in any answer", async () => {
    const authority: PrincipalRef = { kind: "human", userId: "marker-authority" };
    const marked = {
      issuer: authority,
      metadata: { note: "marker-metadata" },
      constraints: { purposes: ["help", "marker-purpose"] },
    };
    const grants = [
      grantOf("marker-run", { ...marked, capabilities: [runAgent] }),
      grantOf("marker-tools", { ...marked, capabilities: [capability("files", ["notes"], "read")] }),
      grantOf("marker-spent", {
        ...marked,
        capabilities: [capability("files", ["notes"], "write")],
        constraints: { maxUses: 1 },
      }),
    ];
    let seen = "";
    const run: RuntimePlugin["run"] = async (turn, host, signal) => {
      const answers = [];
      for (const [place, tool] of [
        "files.read",
        "files.write",
        "files.write",
        "files.none",
        "service.escalate",
      ].entries()) {
        answers.push(await host.invokeTool(calling(`call-${place}`, tool)));
      }
      seen = JSON.stringify([turn, host, signal, answers]);
      return { type: "escalate", reason: "May I?" };
    };
    const tools = [toolOf("files.read"), toolOf("files.write", { readWrite: "write" })];
    const world = turnWorldOf(run, { grants, tools });
    const enabledToolNamespaces = ["files", "marker-namespace"];
    const result = await world.run({ context: { authority, enabledToolNamespaces, namespaceId: "demo" } });
    expect(saidOf(result)).toBe("tool_unavailable");
    expect(seen).toContain("grant_exhausted");
    expect(`${seen}${JSON.stringify(result)}`).not.toContain("marker");
    expect(JSON.stringify(world.events)).toContain("marker-authority");
  });

  const offers: { name: string; offered: string[] | undefined; tools: string[] }[] = [
    {
      name: "all that is visible when the caller names none",
      offered: undefined,
      tools: ["files.put", "files.read", "files.write", "service.escalate"],
    },
    { name: "only what the caller names", offered: ["files.read"], tools: ["files.read"] },
    { name: "nothing when the caller names nothing", offered: [], tools: [] },
    { name: "nothing that the caller made up", offered: ["files.read", "files.format"], tools: ["files.read"] },
  ];
  for (const { name, offered, tools } of offers) {
    test(`of tools is ${name}`, async () => {
      const { run, given } = recordingRun();
      const world = turnWorldOf(run);
      const [one] = await world.kernel.listTools(contextOf({ enabledToolNamespaces: ["files"] }));
      if (one === undefined) throw new Error("no tools");
      await world.run({ ...(offered && { tools: offered.map((toolName) => ({ ...one, name: toolName })) }) });
      expect(given.map(({ turn }) => turn.tools.map((tool) => tool.name))).toStrictEqual([tools]);
    });
  }

  test("writing into it throws and changes nothing", async () => {
    const world = turnWorldOf((turn) => {
      const writable = untyped<{ tools: JsonValue[]; limits: { maxToolCalls: number } }>(turn);
      const attempts = [
        () => writable.tools.push("files.format"),
        () => (writable.limits.maxToolCalls = 10_000),
        () => (untyped<{ agent: RuntimeTurn["agent"] }>(turn).agent = { kind: "agent", agentId: "other" }),
      ];
      return Promise.resolve(completed(attempts.map(throwsTypeError)));
    });
    expect(await world.run()).toMatchObject({ output: [true, true, true] });
  });
});

function throwsTypeError(attempt: () => unknown): boolean {
  try {
    attempt();
    return false;
  } catch (error) {
    return error instanceof TypeError;
  }
}
