export { ConfigError } from "../base/index.ts";
export { createLog, type Log } from "../observe/index.ts";
export { openRuntimes } from "../turns/index.ts";
export { type Host, type HostOptions, startHost } from "./compose.ts";
export { type Config, type ConfigSources, loadConfig, type Settings, withoutSecrets } from "./config.ts";
export { examine } from "./doctor.ts";
export { rotateAuditKey } from "./rotate-audit-key.ts";
export { restoreBackup, type RestoreReport } from "./restore.ts";
export type { Finding } from "./finding.ts";
