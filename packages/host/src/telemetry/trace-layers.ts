import { principalKey, type AuditEvent, type ToolResult } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import type { ActStore, AuditSink, DecisionLedger, ResourceProvider, ToolHandler, ToolProvider } from "turnpike/kernel";
import type { RuntimePlugin } from "turnpike/runtime";
import { withMembers } from "../shared/index.ts";
import { activeSpan, inSpan, type OpenSpan, runIn, type Span, type SpanAttributes, type SpanStart } from "./spans.ts";
import type { Tracing } from "./tracing.ts";

/** The same ledger, whose decisions are traced. */
export function traceDecisions(ledger: DecisionLedger): DecisionLedger {
  return withMembers(ledger, {
    decide: (choices, call) =>
      inSpan(
        () => ({ name: "authorize" }),
        async (span) => {
          const place = await ledger.decide(choices, call);
          const chosen = choices[place];
          if (chosen !== undefined) span.set(decisionAttributes(chosen.event));
          return place;
        },
      ),
  });
}

/** The same sink, whose decisions are traced: decisions without a use or a result do not go through the ledger. */
export function traceAuditedDecisions(sink: AuditSink): AuditSink {
  return withMembers(sink, {
    record(event, call) {
      if (event.type !== "authorization.checked") return sink.record(event, call);
      const start = (): SpanStart => ({ name: "authorize", attributes: decisionAttributes(event) });
      return inSpan(start, () => sink.record(event, call));
    },
  });
}

/** The path of the resource is left out, because it may contain arguments. */
function decisionAttributes({ outcome, reason, grantId, resource, action, tool }: AuditEvent): SpanAttributes {
  return {
    "turnpike.decision.allowed": outcome === "allowed",
    "turnpike.decision.reason": reason ?? outcome,
    ...(grantId !== undefined && { "turnpike.grant.id": grantId }),
    ...(resource && { "turnpike.resource.namespace": resource.namespace }),
    ...(action !== undefined && { "turnpike.action": action }),
    ...(tool !== undefined && { "gen_ai.tool.name": tool }),
  };
}

/** The same store of acts, whose beginnings and outcomes are traced. What happens between the two is the caller's own span. */
export function traceActs(acts: ActStore): ActStore {
  const start = (name: string, tool: string, id: string) => (): SpanStart => ({
    name: `${name} ${tool}`,
    attributes: { "gen_ai.tool.name": tool, "gen_ai.tool.call.id": id },
  });
  return withMembers(acts, {
    begin: (key, act, decide) =>
      inSpan(start("begin_act", act.tool, key.id), async (span) => {
        const begun = await acts.begin(key, act, decide);
        span.set({ "turnpike.act.begun": begun.kind });
        return begun;
      }),
    finish: (key, act, report) =>
      inSpan(start("finish_act", act.tool, key.id), async (span) => {
        const { status, error, isLate } = report.end;
        span.set({ "turnpike.status": status, "turnpike.act.late": isLate });
        if (status === "failed") span.fail(error?.code);
        return acts.finish(key, act, report);
      }),
  });
}

/** The same tool, whose calls are traced. */
export function traceTool(handler: ToolHandler): ToolHandler {
  const { name } = handler.descriptor;
  return withMembers(handler, {
    invoke: (context, call, signal, reportProgress) =>
      inSpan(
        () => ({
          name: `execute_tool ${name}`,
          attributes: {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
          },
        }),
        async (span) => tell(span, await handler.invoke(context, call, signal, reportProgress)),
      ),
  });
}

/** The same provider of an MCP server. Each call has a span of a tool, and inside of it one of a request to another service. */
export function traceMcpServer(provider: ToolProvider): ToolProvider {
  const known = new WeakMap<ToolHandler, ToolHandler>();
  const traced = (handler: ToolHandler): ToolHandler => {
    const found = known.get(handler) ?? traceTool(calling(handler));
    known.set(handler, found);
    return found;
  };
  return withMembers(provider, {
    tools: async (context, signal) => (await provider.tools(context, signal)).map(traced),
  });
}

function calling(handler: ToolHandler): ToolHandler {
  const { name, namespace } = handler.descriptor;
  const tool = name.slice(namespace.length + 1);
  const call = clientSpan("tools/call", namespace, { "gen_ai.tool.name": tool }, tool);
  return withMembers(handler, {
    invoke: (...asked) => inSpan(call, async (span) => tell(span, await handler.invoke(...asked))),
  });
}

/** The same provider, whose operations are traced; those of an MCP server as calls to another service. */
export function traceResources(provider: ResourceProvider): ResourceProvider {
  const { namespace } = provider;
  const own = (): SpanStart => ({
    name: `resource ${namespace}`,
    attributes: { "turnpike.resource.namespace": namespace },
  });
  return withMembers(provider, {
    invoke(operation, signal) {
      const method = operation.action === "use" ? "prompts/get" : "resources/read";
      const start = namespace.startsWith("mcp.") ? clientSpan(method, namespace) : own;
      return inSpan(start, async (span) => tell(span, await provider.invoke(operation, signal)));
    },
  });
}

function clientSpan(method: string, server: string, more: SpanAttributes = {}, target = ""): () => SpanStart {
  const name = target === "" ? method : `${method} ${target}`;
  const attributes = { "mcp.method.name": method, "turnpike.mcp.server": server, ...more };
  return () => ({ name, kind: "client", attributes });
}

function tell<Result extends Pick<ToolResult, "status"> & { error?: { code: string } }>(
  span: Span,
  result: Result,
): Result {
  span.set({ "turnpike.status": result.status });
  if (result.status !== "succeeded") span.fail(result.error?.code);
  return result;
}

const maxTurns = 1_000;

/**
 * The same api, whose turns are traced. A turn that is resumed belongs to the trace in which it began, as long as this process
 * knows that trace; otherwise a new trace begins. It never belongs to the trace of the request that woke it.
 */
export function traceTurns(api: ServiceApi, tracing: Tracing): ServiceApi {
  const begun = new Map<string, OpenSpan>();
  return {
    ...api,
    executeTurn(context, request, options) {
      const key = JSON.stringify([context.namespaceId, principalKey(context.actor), request.executionId]);
      const parent = options?.writer === undefined ? activeSpan() : begun.get(key);
      const start = {
        name: "invoke_agent",
        attributes: {
          "gen_ai.operation.name": "invoke_agent",
          "turnpike.execution_id": request.executionId,
          "turnpike.tenant": context.namespaceId,
          "turnpike.trace_id": context.traceId,
          "turnpike.turn.resumed": options?.writer !== undefined,
        },
      };
      const opened = parent?.child(start) ?? tracing.begin(start);
      if (!begun.has(key)) begun.set(key, opened);
      for (const oldest of begun.keys()) if (begun.size > maxTurns) begun.delete(oldest);
      return runIn(opened, async (span) => {
        const result = await api.executeTurn(context, request, options);
        span.set({ "turnpike.turn.status": result.status });
        if (result.status === "failed" || result.status === "denied") span.fail(result.error.code);
        return result;
      });
    },
  };
}

/** The same runtime, whose steps are traced: those that run, not those that are replayed from the journal. */
export function traceSteps(plugin: RuntimePlugin): RuntimePlugin {
  return withMembers(plugin, {
    run(turn, host, signal) {
      let steps = 0;
      const step: typeof host.step = (name, work, options) =>
        host.step(
          name,
          () =>
            inSpan(
              () => ({ name: "step", attributes: { "turnpike.step": (steps += 1) } }),
              async () => work(),
            ),
          options,
        );
      return plugin.run(turn, withMembers(host, { step }), signal);
    },
  });
}

/** The outcome of a request to a model. */
interface ModelOutcome {
  error?: { code: string };
  finish?:
    | { reason: string; usage: { inputTokens?: number | undefined; outputTokens?: number | undefined } }
    | undefined;
}

/** Asks a model inside a span, with the names that OpenTelemetry has for it. */
export function inModelSpan<Outcome extends object>(
  { provider, model }: { provider: string; model: string },
  ask: () => Promise<Outcome>,
): Promise<Outcome> {
  const start = (): SpanStart => ({
    name: `chat ${model}`,
    kind: "client",
    attributes: { "gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model },
  });
  return inSpan(start, async (span) => {
    const outcome = await ask();
    const { error, finish } = outcome as ModelOutcome;
    if (finish !== undefined) span.set(finishAttributes(finish));
    if (error !== undefined) span.fail(error.code);
    return outcome;
  });
}

function finishAttributes({ reason, usage: { inputTokens, outputTokens } }: NonNullable<ModelOutcome["finish"]>) {
  return {
    "gen_ai.response.finish_reasons": [reason],
    ...(inputTokens !== undefined && { "gen_ai.usage.input_tokens": inputTokens }),
    ...(outputTokens !== undefined && { "gen_ai.usage.output_tokens": outputTokens }),
  };
}
