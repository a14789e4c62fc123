export { ConfigError, EnvironmentNameSchema, FileNameSchema, isLoopback, positive } from "./config.ts";
export { type ConfigFile, inFile, kindOf, parsePlaced, readConfigFile } from "./config-file.ts";
export type { TextPlace } from "./json-places.ts";
export {
  adminTokenFile,
  dataFolder,
  isPostgres,
  locationOf,
  makeFolder,
  serverOf,
  writePrivateFile,
} from "./data-folder.ts";
export { programName, setProgramName } from "./program-name.ts";
export { putInPlace } from "./put-in-place.ts";
export { deepFreeze } from "./deep-freeze.ts";
export {
  allLimitSchemas,
  fixedLimits,
  libraryLimits,
  limitSchemas,
  limitSettings,
  toolLimitSchemas,
  toolLimitSettings,
} from "./limits.ts";
export { isCausedBy } from "./is-caused-by.ts";
export { nearestName } from "./nearest-name.ts";
export { createReportScheduler, type ReportScheduler } from "./report-scheduler.ts";
export { createKeyedSemaphore, createSemaphore, type Semaphore } from "./semaphore.ts";
export { sha256 } from "./sha256.ts";
export { mapInSlices, runInSlices, withBudget, yieldToEventLoop } from "./time-slices.ts";
export { timeoutSignal } from "./timeout-signal.ts";
export { hashedName, nameTools, providerName, type ToolNames } from "./tool-names.ts";
export { columnText, truncateText, withoutHiddenText } from "./text.ts";
export { packageFolder, version } from "./version.ts";
export { withMembers } from "./with-members.ts";
export { isPlainName } from "./plain-name.ts";
