export { ConfigError, EnvironmentNameSchema, isLoopback, positive } from "./config.ts";
export { adminTokenFile, dataFolder, isPostgres, writePrivateFile } from "./data-folder.ts";
export { columnText, truncateText, unprintable, withoutHiddenText } from "./text.ts";
export { version } from "./version.ts";
