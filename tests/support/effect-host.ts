import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { newLocation } from "../../packages/host/test/databases.ts";
import { ask } from "../../packages/host/test/host-calls.ts";
import { startHostProcess, type HostProcess } from "./host-process.ts";
import { makeCredential, makeGrant } from "./host-world.ts";

const plantBug = new URL("./plant-bug.js", import.meta.url).href;
const effectScript = fileURLToPath(new URL("./effect-host.js", import.meta.url));

/** Where a host process stores its data: nothing to say for SQLite, whose file is below its folder. */
export async function placeFor(kind: "sqlite" | "postgres"): Promise<{ database?: string }> {
  return kind === "sqlite" ? {} : { database: await newLocation(kind) };
}

/** Flags of `turnpike serve` for such a place. */
export function serveArgs({ database }: { database?: string }, ...more: readonly string[]): string[] {
  return ["serve", "--port", "0", ...(database === undefined ? [] : ["--database", database]), ...more];
}

/** Settings of a host by their names. */
export type HostSettings = Readonly<Record<string, string | undefined>>;

/** Starts the host whose effects can be counted and held, with a bug when told. */
export function startEffectHost(folder: string, settings: HostSettings = {}, bug?: PlantedBug): Promise<HostProcess> {
  return startScript(effectScript, folder, settings, bug);
}

/** A bug that a host could have: what one of its built files says in place of what it says now. */
export interface PlantedBug {
  file: string;
  from: string;
  to: string;
}

/** Starts a host from a script of its own. Requests are not rated unless a setting says so. */
export function startScript(
  script: string,
  folder: string,
  settings: HostSettings,
  bug?: PlantedBug,
): Promise<HostProcess> {
  const unrated = { "limits.requestsPerSecond": "100000", "limits.burst": "100000", "log.level": "error" };
  const all = Object.entries({ ...unrated, ...settings }).filter(([, value]) => value !== undefined);
  const env = bug && { NODE_OPTIONS: `--import ${plantBug}`, TURNPIKE_PLANTED_BUG: JSON.stringify(bug) };
  return startHostProcess({ folder, script, args: all.map(([key, value]) => `${key}=${value}`), ...(env && { env }) });
}

/**
 * A tenant whose assistant may run turns and append effects (so many times, or after an approval, when told), and the assistant's
 * token.
 */
export async function makeEffectTenant(
  host: HostProcess,
  wish: { tenant?: string; maxUses?: number; approval?: "each" } = {},
): Promise<string> {
  const { tenant = "acme", maxUses, approval } = wish;
  await makeGrant(host, { id: "turns", tenant, resource: "service.execution/agent/assistant", actions: ["invoke"] });
  const terms = { ...(maxUses !== undefined && { maxUses }), ...(approval && { approval }) };
  await makeGrant(host, { id: "effects", tenant, resource: "effects", actions: ["append"], ...terms });
  const { token } = await makeCredential(host, { tenant });
  await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["effects"] } });
  return token;
}

/** A call of `effects.append`; its line is written at once, its result waits for the gate. */
export function appendCall(
  id: string,
  traceId: string,
  args: { line?: string; until?: string; throws?: string } = {},
): Record<string, unknown> {
  const call = { id, tool: "effects.append", requestedAt: "2026-01-01T00:00:00Z", traceId };
  return { ...call, arguments: { line: id, ...args } };
}

/** The effects that happened, in order. */
export function effectsIn(folder: string): string[] {
  const file = join(folder, "effects.log");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

/** Releases what waits for a gate. */
export function openGate(folder: string, name: string): void {
  writeFileSync(join(folder, name), "");
}
