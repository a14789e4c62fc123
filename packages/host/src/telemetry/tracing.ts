import type { Context, Span as SdkSpan, SpanContext } from "@opentelemetry/api";
import { ConfigError, version } from "../shared/index.ts";
import { createCollectorAgent } from "./collector-agent.ts";
import { foreignErrorFacts, type Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { errorType, type OpenSpan, type SpanStart } from "./spans.ts";
import { createSpanQueue, lastFlushMs } from "./span-queue.ts";

/** The traces of a host, where they are switched on. */
export interface Tracing {
  /** Begins a trace, or continues the one that these headers name. */
  begin(start: SpanStart, headers?: { get(name: string): string | null }): OpenSpan;
  /** Sends the remaining spans, within a few seconds. */
  close(): Promise<void>;
}

/** What tracing reports to. */
export interface TracingPorts {
  log: Log;
  metrics: Pick<Metrics, "spansDropped">;
}

/** Unless one of these is set, a batch may take no longer than a stopping host waits for it. */
const timeouts = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"] as const;
const endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const;

/**
 * Opens tracing when the standard variables of OpenTelemetry name a collector, and otherwise loads none of its packages. They
 * read their variables from the environment of the process, so nothing else can be passed here.
 */
export async function openTracing({ log, metrics }: TracingPorts): Promise<Tracing | undefined> {
  const { env } = process;
  const endpoint = endpoints.find((name) => (env[name] ?? "") !== "");
  const isOff = env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none";
  if (endpoint === undefined || isOff) return undefined;
  if (!/^https?:/i.test(env[endpoint] ?? "") || !URL.canParse(env[endpoint] ?? ""))
    throw new ConfigError(`${endpoint}: expected the http or https URL of a collector.`);
  const protocol = env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] ?? env["OTEL_EXPORTER_OTLP_PROTOCOL"] ?? "http/json";
  if (protocol !== "http/json")
    log.warn({ spoken: "http/json" }, "traces are sent in another protocol than was asked for");

  const [api, sdk, { OTLPTraceExporter }, resources] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const agent = createCollectorAgent();
  const timeoutMillis = countIn(timeouts.map((name) => env[name]).find(Boolean), lastFlushMs);
  const queue = createSpanQueue({
    exporter: new OTLPTraceExporter({ timeoutMillis, httpAgentOptions: agent.open }),
    // The exporter's own limit is shorter, but a collector that sends single bytes can outlast it.
    sendMs: timeoutMillis + 1_000,
    maxWaiting: countIn(env["OTEL_BSP_MAX_QUEUE_SIZE"], 2048),
    maxBatch: countIn(env["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"], 512),
    delayMs: countIn(env["OTEL_BSP_SCHEDULE_DELAY"], 5000),
    onDropped: (count) => metrics.spansDropped(count),
    onUnreachable: (error) =>
      log.warn(foreignErrorFacts(error), "traces are dropped, because the collector does not take them"),
  });
  const own = resources.resourceFromAttributes({ "service.name": "turnpike", "service.version": version });
  const named = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new sdk.BasicTracerProvider({
    resource: resources.defaultResource().merge(own).merge(named),
    spanProcessors: [queue],
  });
  const tracer = provider.getTracer("turnpike", version);
  const kinds = { internal: api.SpanKind.INTERNAL, client: api.SpanKind.CLIENT, server: api.SpanKind.SERVER };

  const open = ({ name, kind = "internal", attributes = {} }: SpanStart, parent: Context): OpenSpan => {
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes: { ...attributes } }, parent);
    return {
      set: (more) => void span.setAttributes({ ...more }),
      rename: (better) => void span.updateName(better),
      fail(code) {
        span.setAttribute("error.type", errorType(code));
        span.setStatus({ code: api.SpanStatusCode.ERROR });
      },
      child: (start) => open(start, api.trace.setSpan(api.ROOT_CONTEXT, span)),
      headers: () => headersOf(span),
      end: () => span.end(),
    };
  };
  return {
    begin(start, headers) {
      const remote = headers && remoteContext(headers, api.createTraceState);
      return open(start, remote ? api.trace.setSpanContext(api.ROOT_CONTEXT, remote) : api.ROOT_CONTEXT);
    },
    async close() {
      await provider.shutdown();
      agent.close();
    },
  };
}

function countIn(text: string | undefined, otherwise: number): number {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : otherwise;
}

/** The span of the caller; undefined when the header does not name one, and a trace begins here. */
function remoteContext(
  headers: { get(name: string): string | null },
  parseState: (text: string) => NonNullable<SpanContext["traceState"]>,
): SpanContext | undefined {
  const [, traceId, spanId, flags] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(
      headers.get("traceparent") ?? "",
    ) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const state = headers.get("tracestate");
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(state !== null && { traceState: parseState(state) }),
  };
}

function headersOf(span: SdkSpan): Record<string, string> {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const state = traceState?.serialize() ?? "";
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    ...(state !== "" && { tracestate: state }),
  };
}
