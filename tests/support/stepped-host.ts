import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { eventually } from "../../packages/host/test/host-calls.ts";
import { startScript, type HostSettings } from "./effect-host.ts";
import type { HostProcess } from "./host-process.ts";

const steppedScript = fileURLToPath(new URL("./stepped-host.js", import.meta.url));

/** A host whose clock can be set. */
export interface SteppedHost extends HostProcess {
  /** Sets the clock so far ahead of the machine's; back, if it is less than before. */
  setClock(aheadMs: number): Promise<void>;
}

/** Starts one of the hosts of this folder, with a clock that is so far ahead. */
export async function startSteppedHost(
  folder: string,
  script: "effect-host.js" | "durable-host.js",
  settings: HostSettings = {},
  { clock = "clock", aheadMs = 0 } = {},
): Promise<SteppedHost> {
  const file = join(folder, clock);
  writeFileSync(file, String(aheadMs));
  writeFileSync(`${file}.set`, "0");
  const host = await startScript(steppedScript, folder, { ...settings, clock, script });
  return {
    ...host,
    async setClock(ms) {
      writeFileSync(file, String(ms));
      await eventually(() => expect(readFileSync(`${file}.set`, "utf8")).toBe(String(ms)));
    },
  };
}
