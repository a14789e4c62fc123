import { describe, expect, test } from "vitest";
import { contextOf, deferred, fails, providerOf, untyped } from "../../test/deployment.ts";
import { calling, completed, dataOf, saidOf, ticks, toolOf, toolsOf, turnWorldOf, typesOf } from "../../test/turns.ts";
import type { JsonValue, ToolCall, TurnOptions } from "../contracts/index.ts";
import type { RuntimeHost } from "./plugin.ts";

interface Asked {
  call: ToolCall;
  step?: number;
}

/** What becomes of calls made one after the other, and how often a handler ran. */
async function asked(calls: readonly Asked[], options: TurnOptions = {}): Promise<{ said: string[]; ran: string[] }> {
  const { read, write } = toolsOf();
  const said: string[] = [];
  const world = turnWorldOf(
    async (_turn, host) => {
      for (const { call, step } of calls)
        said.push(saidOf(await host.invokeTool(call, { ...(step !== undefined && { step }) })));
      return completed();
    },
    { tools: [read, write] },
  );
  const result = await world.run({ options });
  expect(result.status).toBe("succeeded");
  expect(dataOf(result, "tool.requested")).toStrictEqual(
    calls.map(({ call }) => ({ callId: call.id, tool: call.tool })),
  );
  expect(dataOf(result, "tool.completed")).toStrictEqual(
    calls.map(({ call }, place) => completionOf(call, said[place] ?? "")),
  );
  const audited = world.events.filter(({ type }) => type === "tool.invoked");
  expect(
    audited.map(({ operationId, tool, outcome, reason }) => ({ operationId, tool, said: reason ?? outcome })),
  ).toStrictEqual(calls.map(({ call }, place) => ({ operationId: call.id, tool: call.tool, said: said[place] })));
  return { said, ran: [...read.calls, ...write.calls].map(({ id }) => id) };
}

function completionOf({ id, tool }: ToolCall, said: string): JsonValue {
  const common = { callId: id, tool };
  return said === "succeeded" ? { ...common, status: "succeeded" } : { ...common, status: "denied", code: said };
}

describe("each call passes the turn's own catalog and limits, is in the audit log, and the turn continues", () => {
  const [one, two, three] = [calling("call-1"), calling("call-2"), calling("call-3")];
  const rows: { name: string; calls: Asked[]; options?: TurnOptions; said: string[]; ran: string[] }[] = [
    {
      name: "calls within every limit",
      calls: [{ call: one }, { call: two }],
      said: ["succeeded", "succeeded"],
      ran: ["call-1", "call-2"],
    },
    {
      name: "a tool that is not in the catalog",
      calls: [{ call: calling("call-1", "files.none") }, { call: two }],
      said: ["tool_unavailable", "succeeded"],
      ran: ["call-2"],
    },
    {
      name: "the last step, and the one after it",
      calls: [
        { call: one, step: 1 },
        { call: two, step: 2 },
        { call: three, step: 0 },
      ],
      options: { maxSteps: 2, maxToolCalls: 9 },
      said: ["succeeded", "step_limit_exceeded", "succeeded"],
      ran: ["call-1", "call-3"],
    },
    {
      name: "steps that are no numbers of steps",
      calls: [
        { call: one, step: Number.NaN },
        { call: two, step: Number.POSITIVE_INFINITY },
        { call: three, step: 1e9 },
      ],
      said: ["step_limit_exceeded", "step_limit_exceeded", "step_limit_exceeded"],
      ran: [],
    },
    {
      name: "the last call, and the one after it",
      calls: [{ call: one }, { call: two }, { call: three }],
      options: { maxToolCalls: 2 },
      said: ["succeeded", "succeeded", "tool_call_limit_exceeded"],
      ran: ["call-1", "call-2"],
    },
    {
      name: "maxToolCalls that follows maxSteps",
      calls: [{ call: one }, { call: two }],
      options: { maxSteps: 1 },
      said: ["succeeded", "tool_call_limit_exceeded"],
      ran: ["call-1"],
    },
    {
      name: "a call id for the second time",
      calls: [{ call: one }, { call: one }, { call: { ...calling("call-1", "files.write") } }, { call: two }],
      said: ["succeeded", "duplicate_call_id", "duplicate_call_id", "succeeded"],
      ran: ["call-1", "call-2"],
    },
    {
      name: "the id of a call that was refused",
      calls: [{ call: calling("call-1", "files.none") }, { call: one }],
      said: ["tool_unavailable", "duplicate_call_id"],
      ran: [],
    },
    {
      name: "refused calls, which use up no call",
      calls: [{ call: calling("call-0", "files.none") }, { call: one, step: 16 }, { call: two }],
      options: { maxSteps: 16, maxToolCalls: 1 },
      said: ["tool_unavailable", "step_limit_exceeded", "succeeded"],
      ran: ["call-2"],
    },
    {
      name: "a call of another trace, which the kernel refuses",
      calls: [{ call: { ...one, traceId: "trace-2" } }, { call: two }],
      said: ["trace_mismatch", "succeeded"],
      ran: ["call-2"],
    },
  ];
  for (const { name, calls, options, said, ran } of rows) {
    test(name, async () => {
      expect(await asked(calls, options)).toStrictEqual({ said, ran });
    });
  }

  test("a tool that the kernel would allow but the turn was not offered", async () => {
    const { read, write } = toolsOf();
    const world = turnWorldOf(
      async (_turn, host) => completed(saidOf(await host.invokeTool(calling("call-1", "files.write")))),
      {
        tools: [read, write],
      },
    );
    const tools = await world.kernel.listTools(contextOf());
    expect(await world.run({ tools: tools.filter(({ name }) => name === "files.read") })).toMatchObject({
      output: "tool_unavailable",
    });
    expect(write.calls).toStrictEqual([]);
    expect(await world.run({ tools })).toMatchObject({ output: "succeeded" });
  });

  test("a tool of a provider that failed is tool_catalog_unavailable, an unknown one tool_unavailable", async () => {
    const world = turnWorldOf(
      async (_turn, host) => {
        await host.invokeTool(calling("call-1", "mail.find"));
        await host.invokeTool(calling("call-2", "mailbox.find"));
        return completed();
      },
      { toolProviders: [providerOf("post", ["mail"], fails)] },
    );
    const result = await world.run({ context: { enabledToolNamespaces: ["files", "mail"] } });
    expect(dataOf(result, "tool.completed")).toStrictEqual([
      { callId: "call-1", tool: "mail.find", status: "failed", code: "tool_catalog_unavailable" },
      { callId: "call-2", tool: "mailbox.find", status: "denied", code: "tool_unavailable" },
    ]);
  });

  test("a refusal is a denied result with the code's own words", async () => {
    const world = turnWorldOf(async (_turn, host) =>
      completed(untyped<JsonValue>(await host.invokeTool(calling("call-1"), { step: 16 }))),
    );
    expect(await world.run()).toMatchObject({
      output: {
        status: "denied",
        callId: "call-1",
        tool: "files.read",
        completedAt: "2026-01-01T12:00:00Z",
        error: { code: "step_limit_exceeded", message: "The turn has used up its steps.", retryable: false },
      },
    });
  });

  test("a tool that fails is a failed result, and the turn continues", async () => {
    const broken = toolOf("files.read", { work: () => Promise.reject(new Error("broken")) });
    const world = turnWorldOf(async (_turn, host) => completed(saidOf(await host.invokeTool(calling("call-1")))), {
      tools: [broken],
    });
    const result = await world.run();
    expect(result).toMatchObject({ status: "succeeded", output: "tool_execution_failed" });
    expect(dataOf(result, "tool.completed")).toStrictEqual([
      { callId: "call-1", tool: "files.read", status: "failed", code: "tool_execution_failed" },
    ]);
  });
});

describe("calls at once", () => {
  test("stay within the limit, and as many run at a time as were asked for", async () => {
    const gate = deferred<string>();
    const read = toolOf("files.read", { work: () => gate.promise });
    const ids = Array.from({ length: 50 }, (_, place) => `call-${place}`);
    const world = turnWorldOf(
      async (_turn, host) => {
        const results = Promise.all(ids.map((id) => host.invokeTool(calling(id))));
        await ticks(100);
        const running = read.calls.length;
        gate.resolve("done");
        return completed([running, ...(await results).map(saidOf)]);
      },
      { tools: [read] },
    );
    const result = await world.run({ options: { maxToolCalls: 10 } });
    const said = [...ids.slice(0, 10).map(() => "succeeded"), ...ids.slice(10).map(() => "tool_call_limit_exceeded")];
    expect(result).toMatchObject({ output: [10, ...said] });
    expect(read.calls).toHaveLength(10);
    expect(result.events.map(({ sequence }) => sequence)).toStrictEqual(result.events.map((_event, place) => place));
  });

  test("with the same id run once", async () => {
    const read = toolOf("files.read");
    const world = turnWorldOf(
      async (_turn, host) =>
        completed((await Promise.all([1, 2, 3].map(() => host.invokeTool(calling("call-1"))))).map(saidOf)),
      { tools: [read] },
    );
    expect(await world.run()).toMatchObject({ output: ["succeeded", "duplicate_call_id", "duplicate_call_id"] });
    expect(read.calls).toHaveLength(1);
  });

  test("of a bounded grant take exactly the uses there are", async () => {
    const read = toolOf("files.read");
    const world = turnWorldOf(
      async (_turn, host) =>
        completed(
          (await Promise.all([1, 2, 3, 4].map((id) => host.invokeTool(calling(`call-${id}`))))).map(saidOf).toSorted(),
        ),
      { tools: [read] },
    );
    world.grants.issue({ ...(await toolGrantOf(world)), constraints: { maxUses: 2 } });
    expect(await world.run()).toMatchObject({
      output: ["grant_exhausted", "grant_exhausted", "succeeded", "succeeded"],
    });
    expect(read.calls).toHaveLength(2);
  });
});

async function toolGrantOf({ grants }: ReturnType<typeof turnWorldOf>) {
  const grant = await grants.find("demo", "tools");
  if (grant === undefined) throw new Error("no such grant");
  return grant;
}

describe("what is no call and no event", () => {
  const notCalls: { name: string; call: unknown }[] = [
    { name: "nothing", call: undefined },
    { name: "a call without an id", call: { ...calling("x"), id: undefined } },
    { name: "a call with an empty id", call: calling("") },
    { name: "a call with an unknown key", call: { ...calling("x"), context: {} } },
    { name: "a call whose arguments are no JSON", call: { ...calling("x"), arguments: { at: new Date(0) } } },
  ];
  for (const { name, call } of notCalls) {
    test(`${name} rejects, is no event and leaves the turn as it was`, async () => {
      const world = turnWorldOf(async (_turn, host) => {
        await expect(host.invokeTool(untyped<ToolCall>(call))).rejects.toThrow("This is no tool call");
        return completed(saidOf(await host.invokeTool(calling("x"))));
      });
      const result = await world.run();
      expect(result).toMatchObject({ output: "succeeded" });
      expect(typesOf(result)).toStrictEqual(["turn.started", "tool.requested", "tool.completed", "turn.completed"]);
    });
  }

  const notEvents: { name: string; event: unknown; said?: RegExp }[] = [
    { name: "nothing", event: undefined, said: /./ },
    { name: "an event without a type", event: { data: 1 }, said: /An event needs a type\./ },
    { name: "an event whose type is no text", event: { type: 7, data: 1 }, said: /An event needs a type\./ },
    { name: "an event without data", event: { type: "thought" } },
    { name: "data that is no number of JSON", event: { type: "thought", data: Number.NaN } },
    { name: "data with a function", event: { type: "thought", data: { go: () => 1 } } },
    { name: "data that is a date", event: { type: "thought", data: new Date(0) } },
  ];
  for (const { name, event, said = /This is no event: / } of notEvents) {
    test(`emitting ${name} throws and adds nothing`, async () => {
      const world = turnWorldOf((_turn, host) => {
        const emit = (): void => host.emit(untyped<Parameters<RuntimeHost["emit"]>[0]>(event));
        expect(emit).toThrow(TypeError);
        expect(emit).toThrow(said);
        return Promise.resolve(completed());
      });
      expect(typesOf(await world.run())).toStrictEqual(["turn.started", "turn.completed"]);
    });
  }

  test("what a plugin changes in a call or an event afterwards changes nothing", async () => {
    const read = toolOf("files.read");
    const world = turnWorldOf(
      async (_turn, host) => {
        const call = { ...calling("call-1"), arguments: { note: "mine" } };
        const event = { type: "thought", data: { list: [1] } };
        const running = host.invokeTool(call);
        host.emit(event);
        call.arguments.note = "other";
        event.data.list.push(2);
        await running;
        return completed();
      },
      { tools: [read] },
    );
    const result = await world.run();
    expect(read.calls.map((call) => call.arguments)).toStrictEqual([{ note: "mine" }]);
    expect(dataOf(result, "runtime.event")).toStrictEqual([{ type: "thought", data: { list: [1] } }]);
  });

  test("an event of a plugin cannot pass for one of the turn", async () => {
    const world = turnWorldOf((_turn, host) => {
      host.emit(
        untyped<{ type: string; data: null }>({ type: "turn.completed", data: null, sequence: 99, eventId: "forged" }),
      );
      return Promise.resolve(completed());
    });
    const result = await world.run();
    expect(typesOf(result)).toStrictEqual(["turn.started", "runtime.event", "turn.completed"]);
    expect(dataOf(result, "runtime.event")).toStrictEqual([{ type: "turn.completed", data: null }]);
  });

  test("the host works without its object: both effects can be handed on", async () => {
    const world = turnWorldOf(async (_turn, { invokeTool, emit }) => {
      emit({ type: "thought", data: 1 });
      return completed(saidOf(await invokeTool(calling("call-1"))));
    });
    expect(await world.run()).toMatchObject({ output: "succeeded" });
  });
});

describe("what a turn leaves behind is bounded", () => {
  test("after 1,000 refused calls the next one rejects with a RangeError and is no event", async () => {
    const world = turnWorldOf(async (_turn, host) => {
      for (let place = 0; place < 1_000; place += 1) {
        expect(saidOf(await host.invokeTool(calling(`call-${place}`, "files.none")))).toBe("tool_unavailable");
      }
      await expect(host.invokeTool(calling("one-too-many", "files.none"))).rejects.toThrow(RangeError);
      return completed();
    });
    const result = await world.run();
    expect(result.status).toBe("succeeded");
    expect(dataOf(result, "tool.requested")).toHaveLength(1_000);
    expect(dataOf(result, "tool.completed")).toHaveLength(1_000);
  });

  test("calls that are made are not counted among those that are refused", async () => {
    const world = turnWorldOf(async (_turn, host) => {
      for (let place = 0; place < 1_000; place += 1) await host.invokeTool(calling(`call-${place}`));
      return completed(saidOf(await host.invokeTool(calling("one-more"))));
    });
    expect(await world.run({ options: { maxToolCalls: 1_001 } })).toMatchObject({ output: "succeeded" });
  });

  test("after 20,000 events of a plugin the next one throws a RangeError and adds nothing", async () => {
    const world = turnWorldOf((_turn, host) => {
      for (let place = 0; place < 20_000; place += 1) host.emit({ type: "thought", data: place });
      expect(() => host.emit({ type: "thought", data: "one too many" })).toThrow(
        new RangeError("A turn emits at most 20000 events."),
      );
      return Promise.resolve(completed());
    });
    const result = await world.run();
    expect(result.status).toBe("succeeded");
    expect(dataOf(result, "runtime.event")).toHaveLength(20_000);
  });
});
