export { countingAudit } from "./counting-audit.ts";
export {
  bugFacts,
  createLog,
  errorFacts,
  foreignErrorFacts,
  type Log,
  LogSettingsSchema,
  portErrorFacts,
} from "./log.ts";
export { measureTurns } from "./measure.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
export { queryLog } from "./query-log.ts";
