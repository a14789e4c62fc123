export { type Host, startHost } from "./compose.ts";
export { type Config, type ConfigSources, loadConfig, type Settings, withoutSecrets } from "./config.ts";
export { examine, type Finding } from "./doctor.ts";
