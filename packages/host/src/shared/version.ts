import { createRequire } from "node:module";
import { dirname } from "node:path";

// By name, because the code runs from its sources, from what they are compiled to, and from the bundle of the command.
const require = createRequire(import.meta.url);
const manifest = require("turnpike-host/package.json") as { version: string };

/** The version of the running host, as its package.json states it. */
export const version: string = manifest.version;

/** Where the host's package is. */
export const packageFolder: string = dirname(require.resolve("turnpike-host/package.json"));
