export {
  bugFacts,
  createLog,
  errorFacts,
  foreignErrorFacts,
  type Log,
  LogSettingsSchema,
  portErrorFacts,
} from "./log.ts";
export { countAuditEvents, countDecisions, measureTurns } from "./measure.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
export { queryLog } from "./query-log.ts";
