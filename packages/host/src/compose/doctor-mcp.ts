import { programName } from "../shared/index.ts";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import {
  impossibleUsers,
  type McpConfig,
  type PinnedHashes,
  serversAsOwnUser,
  type ServerTrial,
  tryServers,
} from "../mcp-servers/index.ts";
import { bad, good, warning, type Finding } from "./finding.ts";

/** What the servers are compared with. */
interface ServerChecks {
  env: NodeJS.ProcessEnv;
  /** Undefined when the pins cannot be read. */
  pins: PinnedHashes | undefined;
}

/** Which user each MCP server runs as, whether it answers, and what of it is not used. Nothing is pinned. */
export async function checkServers(mcp: McpConfig, { env, pins }: ServerChecks): Promise<Finding[]> {
  const impossible = impossibleUsers(mcp);
  const isPossible = ([name]: [string, unknown]): boolean => !impossible.some(({ server }) => server === name);
  const servers = Object.fromEntries(Object.entries(mcp.servers).filter(isPossible));
  const trials = await tryServers({ servers }, { env });
  return [
    ...impossible.map(({ says }) => bad("mcp", says)),
    ...serversAsOwnUser(mcp).map(({ says }) => warning("mcp", says)),
    ...missingPrograms(servers, env).map((says) => bad("mcp", says)),
    ...trials.flatMap((trial) => findingsOf(trial, pins)),
  ];
}

/** Commands that give keys and are not there. A server that takes the keys of owners is not tried, so no other check would report it. */
function missingPrograms(servers: McpConfig["servers"], env: NodeJS.ProcessEnv): string[] {
  const missing: string[] = [];
  for (const [name, { headers = {} }] of Object.entries(servers)) {
    for (const [header, secret] of Object.entries(headers)) {
      const program = secret.command?.[0];
      if (program === undefined || isProgram(program, env)) continue;
      const key = `mcp.servers.${name}.headers.${header}.command`;
      missing.push(`${key}: there is no program ${program}. Install it, or name its path.`);
    }
  }
  return missing;
}

function isProgram(program: string, { PATH = "" }: NodeJS.ProcessEnv): boolean {
  const places = program.includes("/") ? [program] : PATH.split(delimiter).map((folder) => join(folder, program));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const check = "mcp server";
/** How many findings of one kind there are about a server. */
const maxShown = 20;

function findingsOf(trial: ServerTrial, pins: PinnedHashes | undefined): Finding[] {
  const { server } = trial;
  if (trial.kind === "fails") return [bad(check, `${server}: ${trial.why}`)];
  if (trial.kind === "not tried") {
    return [good(check, `${server} takes the keys of owners: it is tried when the first of them uses it`)];
  }
  const { tools, leftOut } = trial;
  const pinned = pins?.get(server);
  const changed = [...tools.values()].filter(({ listed, hash }) => pinned && pinned.get(listed.name) !== hash);
  const count = tools.size === 1 ? "1 tool" : `${tools.size} tools`;
  return [
    good(check, `${server} answers, and has ${count}${pinsText(pins, pinned)}`),
    ...few(leftOut, ({ tool, why }) => `${server}: ${tool === "" ? "a tool without a name" : tool}: ${why}`),
    ...few(changed, ({ listed: { name } }) => {
      const why = pinned?.has(name) === true ? "is not what was accepted" : "is new";
      return `${server}: ${name} ${why}, and withdrawn. While a host runs: ${programName()} mcp review ${server}`;
    }),
  ];
}

function pinsText(pins: PinnedHashes | undefined, pinned: ReadonlyMap<string, string> | undefined): string {
  if (pins === undefined)
    return `; what was accepted of them cannot be read now: ${programName()} mcp review compares them`;
  return pinned === undefined ? "; none was accepted yet: the first use accepts them all" : "";
}

function few<T>(all: readonly T[], says: (one: T) => string): Finding[] {
  const shown = all.slice(0, maxShown).map((one) => warning(check, says(one)));
  return all.length <= maxShown ? shown : [...shown, warning(check, `and ${all.length - maxShown} more of this kind`)];
}
