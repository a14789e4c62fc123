export { canonicalJson } from "./canonical-json.ts";
export { ConfigError, EnvironmentNameSchema, isLoopback, positive } from "./config.ts";
export { adminTokenFile, dataFolder, isPostgres, writePrivateFile } from "./data-folder.ts";
export { deepFreeze } from "./deep-freeze.ts";
export { mapInSlices } from "./map-in-slices.ts";
export { sha256 } from "./sha256.ts";
export { hashedName, nameTools, providerName, type ToolNames } from "./tool-names.ts";
export { columnText, truncateText, unprintable, visibleText, withoutHiddenText } from "./text.ts";
export { version } from "./version.ts";
