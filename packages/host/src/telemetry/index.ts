export {
  bugFacts,
  createLog,
  errorFacts,
  foreignErrorFacts,
  type Log,
  LogSettingsSchema,
  portErrorFacts,
} from "./log.ts";
export { countAuditEvents, countDecisions, countOutcomes, measureTurns } from "./measure.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
export { queryLog } from "./query-log.ts";
export { inSpan, type OpenSpan, runIn, traceHeaders, withTrace } from "./spans.ts";
export {
  inModelSpan,
  traceActs,
  traceAuditedDecisions,
  traceDecisions,
  traceMcpServer,
  traceResources,
  traceSteps,
  traceTool,
  traceTurns,
} from "./trace-layers.ts";
export { openTracing, type Tracing } from "./tracing.ts";
