import { readFileSync } from "node:fs";

const manifest: { version: string } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

/** The version of the running host, as its package.json states it. */
export const version: string = manifest.version;
