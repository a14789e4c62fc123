import { describe, expect, test } from "vitest";
import type { ServiceApi } from "turnpike/http";
import type { ToolHandler } from "turnpike/kernel";
import type { RuntimeHost, RuntimePlugin } from "turnpike/runtime";
import { auditEvent, context } from "../../test/records.ts";
import { inSpan, type OpenSpan, runIn, type SpanStart, withTrace } from "./spans.ts";
import {
  inModelSpan,
  traceActs,
  traceDecisions,
  traceMcpServer,
  traceResources,
  traceSteps,
  traceTool,
  traceTurns,
} from "./trace-layers.ts";
import type { Tracing } from "./tracing.ts";

/** Tracing that records one line for each span: its place, and what was said of it. */
function memoryTracing() {
  const lines: string[] = [];
  const open = ({ name, attributes = {} }: SpanStart, parent: string): OpenSpan => {
    const place = `${parent}/${name}`;
    const said: string[] = [JSON.stringify(attributes)];
    return {
      set: (more) => void said.push(JSON.stringify(more)),
      fail: (code) => void said.push(`failed ${code}`),
      rename() {},
      child: (start) => open(start, place),
      headers: () => ({ traceparent: place }),
      end: () => void lines.push(`${place} ${said.join(" ")}`),
    };
  };
  const tracing: Tracing = { begin: (start) => open(start, ""), close: () => Promise.resolve() };
  return { lines, tracing, names: () => lines.map((line) => line.slice(0, line.indexOf(" "))) };
}

function within<T>(tracing: Tracing, act: () => Promise<T>, name = "request"): Promise<T> {
  return runIn(tracing.begin({ name }), act);
}

describe("a span", () => {
  test("is inside the one that runs, and there is none where nothing is traced", async () => {
    const { tracing, names } = memoryTracing();
    const act = (): Promise<number> =>
      inSpan(
        () => ({ name: "work" }),
        () => Promise.resolve(7),
      );
    expect(await act()).toBe(7);
    expect(names()).toEqual([]);
    expect(await within(tracing, act)).toBe(7);
    expect(names()).toEqual(["/request/work", "/request"]);
  });

  test("of something that throws has failed, and tells no words of the error", async () => {
    const { tracing, lines } = memoryTracing();
    const thrown = new Error("planted");
    await expect(within(tracing, () => Promise.reject(thrown))).rejects.toBe(thrown);
    expect(lines).toEqual(["/request {} failed undefined"]);
  });

  test("goes along with a request to another service, which keeps its own headers", async () => {
    const { tracing } = memoryTracing();
    const init = { method: "POST", headers: { authorization: "own" } };
    expect(withTrace(init)).toBe(init);
    const sent = await within(tracing, () => Promise.resolve(withTrace(init)));
    expect([sent.method, Object.fromEntries(new Headers(sent.headers))]).toEqual([
      "POST",
      { authorization: "own", traceparent: "/request" },
    ]);
  });
});

test("a traced tool is asked as itself, and tells how it ended", async () => {
  class Counter {
    #calls = 0;
    descriptor = { name: "notes.count" } as ToolHandler["descriptor"];
    parse(args: object): object {
      return { ...args, calls: this.#calls };
    }
    requirement(): unknown {
      return { action: "count", resource: { namespace: "notes", path: [String(this.#calls)] } };
    }
    invoke(): unknown {
      this.#calls += 1;
      return Promise.resolve({ status: "failed", error: { code: "tool_timeout", message: "planted" } });
    }
  }
  const { tracing, lines } = memoryTracing();
  const handler = new Counter() as unknown as ToolHandler;
  const tool = traceTool(handler);
  expect(tool.descriptor).toBe(handler.descriptor);
  const call = { id: "call-1", arguments: { text: "planted" } } as never;
  await within(tracing, () => tool.invoke(context(), call, AbortSignal.timeout(1000)));
  expect(tool.parse({})).toEqual({ calls: 1 });
  expect(tool.requirement?.(context(), {})).toMatchObject({ resource: { path: ["1"] } });
  const { descriptor } = handler;
  expect(traceTool({ descriptor, parse: (args) => args, invoke: handler.invoke }).requirement).toBeUndefined();
  expect(lines[0]).toContain('/request/execute_tool notes.count {"gen_ai.operation.name":"execute_tool"');
  expect(lines[0]).toContain('{"turnpike.status":"failed"} failed tool_timeout');
  expect(lines.join()).not.toContain("planted");
});

test("an act tells how it began and ended, and nothing that its caller says of it", async () => {
  const { tracing, lines } = memoryTracing();
  const acts = traceActs({
    begin: () => Promise.resolve({ kind: "begun" }),
    finish: () => Promise.resolve("stored"),
    find: () => Promise.resolve(undefined),
    findWaiting: () => Promise.resolve(undefined),
  });
  const key = { namespaceId: "acme", actor: context().actor, scope: "trace planted", id: "act-1" };
  const act = { tool: "deploy", fingerprint: "planted" } as never;
  await within(tracing, () => acts.begin(key, act, () => Promise.resolve({ kind: "refused" })));
  for (const error of [undefined, { code: "planted", message: "planted" }]) {
    const end = { status: error === undefined ? "succeeded" : "failed", isLate: false, output: "planted", error };
    await within(tracing, () => acts.finish(key, act, { end } as never));
  }
  const about = '{"gen_ai.tool.name":"deploy","gen_ai.tool.call.id":"act-1"}';
  expect(lines.filter((line) => line.includes("_act"))).toEqual([
    `/request/begin_act deploy ${about} {"turnpike.act.begun":"begun"}`,
    `/request/finish_act deploy ${about} {"turnpike.status":"succeeded","turnpike.act.late":false}`,
    `/request/finish_act deploy ${about} {"turnpike.status":"failed","turnpike.act.late":false} failed planted`,
  ]);
});

test("a decision tells its reason, its grant and the namespace, and not the path", async () => {
  const { tracing, lines } = memoryTracing();
  const about = { action: "read", resource: { namespace: "files", path: ["planted"] } };
  const events = [
    auditEvent("1", { ...about, grantId: "grant-1" }),
    auditEvent("2", { ...about, outcome: "denied", reason: "grant_exhausted" }),
  ];
  const ledger = traceDecisions({ decide: () => Promise.resolve(1) });
  await within(tracing, () =>
    ledger.decide(
      events.map((event) => ({ event })),
      {},
    ),
  );
  expect(lines[0]).toBe(
    '/request/authorize {} {"turnpike.decision.allowed":false,"turnpike.decision.reason":"grant_exhausted",' +
      '"turnpike.resource.namespace":"files","turnpike.action":"read"}',
  );
});

describe("a turn", () => {
  const turn = { executionId: "turn-1" } as Parameters<ServiceApi["executeTurn"]>[1];
  const apiOf = (status: string): ServiceApi =>
    ({ executeTurn: () => Promise.resolve({ status, error: { code: "runtime_failed" } }) }) as unknown as ServiceApi;
  const goingOn = { writer: {} } as NonNullable<Parameters<ServiceApi["executeTurn"]>[2]>;

  test("that is resumed is in the trace that it began in, and not in that of the call that woke it", async () => {
    const { tracing, names } = memoryTracing();
    const api = traceTurns(apiOf("succeeded"), tracing);
    await within(tracing, () => api.executeTurn(context(), turn), "start");
    await within(tracing, () => api.executeTurn(context(), turn, goingOn), "answer");
    expect(names()).toEqual(["/start/invoke_agent", "/start", "/start/invoke_agent/invoke_agent", "/answer"]);
  });

  test("that resumes after another process began it begins a trace", async () => {
    const { tracing, names } = memoryTracing();
    const api = traceTurns(apiOf("succeeded"), tracing);
    await within(tracing, () => api.executeTurn(context(), turn, goingOn), "answer");
    expect(names()).toEqual(["/invoke_agent", "/answer"]);
  });

  test("of the same id of another actor is another one", async () => {
    const { tracing, names } = memoryTracing();
    const api = traceTurns(apiOf("succeeded"), tracing);
    await within(tracing, () => api.executeTurn(context(), turn));
    await api.executeTurn(context({ namespaceId: "other" }), turn, goingOn);
    expect(names().at(-1)).toBe("/invoke_agent");
  });

  test("that failed says why", async () => {
    const { tracing, lines } = memoryTracing();
    await within(tracing, () => traceTurns(apiOf("failed"), tracing).executeTurn(context(), turn));
    expect(lines[0]).toContain('{"turnpike.turn.status":"failed"} failed runtime_failed');
  });

  test("has a span for each step that is done, and none for one that is given again", async () => {
    const { tracing, names } = memoryTracing();
    const asked: unknown[] = [];
    const host = {
      limits: {},
      waits: true,
      step(name: string, work: () => unknown, options: unknown) {
        asked.push([name, options]);
        return Promise.resolve(name === "stored" ? 1 : work());
      },
    } as unknown as RuntimeHost;
    const inside = { isInside: true };
    const seen: unknown[] = [];
    const plugin: RuntimePlugin = {
      manifest: { id: "test", version: "1" },
      resumes: (version) => version === "1",
      async run(_turn, given) {
        seen.push(given.waits, await given.step("stored", () => 2), await given.step("new", () => 3, inside));
        return { type: "complete", output: null };
      },
    };
    const traced = traceSteps(plugin);
    await within(tracing, () => traced.run({} as never, host, AbortSignal.timeout(1000)));
    expect(seen).toEqual([true, 1, 3]);
    expect(asked).toEqual([
      ["stored", undefined],
      ["new", inside],
    ]);
    expect(names()).toEqual(["/request/step", "/request"]);
    expect([traced.manifest, traced.resumes?.("1"), traced.resumes?.("2")]).toEqual([plugin.manifest, true, false]);
    const { resumes: _resumes, ...simple } = plugin;
    expect(traceSteps(simple).resumes).toBeUndefined();
  });

  test("everything that a traced runtime, tool or provider says of itself is passed on", () => {
    const plugin = { manifest: { id: "test", version: "1" }, isPure: true, later: 1, run: () => Promise.reject() };
    expect(traceSteps(plugin as unknown as RuntimePlugin)).toMatchObject({ isPure: true, later: 1 });
    const tool = { descriptor: { name: "one" }, later: 1 } as unknown as ToolHandler;
    expect(traceTool(tool)).toMatchObject({ later: 1 });
    const provider = { id: "mcp.one", namespaces: ["mcp.one"], tools: () => Promise.resolve([]), later: 1 };
    expect(traceMcpServer(provider)).toMatchObject({ later: 1 });
    const resources = { namespace: "one", invoke: () => Promise.reject(), later: 1 };
    expect(traceResources(resources)).toMatchObject({ later: 1 });
  });
});

test("a request to a model tells what it cost, and how it failed", async () => {
  const { tracing, lines } = memoryTracing();
  const finish = { reason: "stop", usage: { inputTokens: 3, outputTokens: undefined } };
  const model = { provider: "anthropic", model: "model-1", apiKeyEnv: "planted" };
  await within(tracing, () => inModelSpan(model, () => Promise.resolve({ kind: "reply", text: "planted", finish })));
  const error = { code: "model_unavailable", message: "planted" };
  await within(tracing, () => inModelSpan(model, () => Promise.resolve({ kind: "failure", error })));
  expect(lines.filter((line) => line.startsWith("/request/chat"))).toEqual([
    '/request/chat model-1 {"gen_ai.operation.name":"chat","gen_ai.provider.name":"anthropic","gen_ai.request.model":"model-1"}' +
      ' {"gen_ai.response.finish_reasons":["stop"],"gen_ai.usage.input_tokens":3}',
    '/request/chat model-1 {"gen_ai.operation.name":"chat","gen_ai.provider.name":"anthropic","gen_ai.request.model":"model-1"}' +
      " failed model_unavailable",
  ]);
});
