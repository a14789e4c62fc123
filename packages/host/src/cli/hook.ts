import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { answerHook, codingAgents, readHook, type CodingAgent } from "../agent-hooks/index.ts";
import { openHookGate } from "./hook-gate.ts";

/** What a hook reads and writes. */
export interface HookStreams {
  /** All of standard input. */
  read(): Promise<string>;
  /** For the agent. */
  say(text: string): void;
  /** The reason of exit code 2, which both agents show to the model. */
  complain(text: string): void;
}

/** The flags of `turnpike hook`, which its help describes. */
export const hookFlags = {
  url: { type: "string" },
  "token-file": { type: "string" },
  agent: { type: "string" },
  wait: { type: "string" },
  shadow: { type: "boolean" },
} as const;

type HookFlags = Partial<ReturnType<typeof parseArgs<{ options: typeof hookFlags }>>["values"]>;

/** How long the host may take for an answer, besides waiting for a person. An agent whose hook takes longer may run the tool. */
const patienceMs = 20_000;
const maxInput = 32 * 1024 * 1024;

/**
 * Answers the hook on standard input. INVARIANT: resolves with 0 or 2, because with any other exit code agents run the tool.
 */
export async function runHookLine(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  streams: HookStreams = processStreams,
): Promise<0 | 2> {
  try {
    const { values } = parseArgs({ args: [...args], options: hookFlags });
    await answerFrom(values, env, streams);
    return 0;
  } catch (error) {
    // Codex takes code 2 without a reason for a hook that failed, and runs the tool.
    streams.complain(`Turnpike: It was denied because ${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
}

const processStreams: HookStreams = {
  async read() {
    let text = "";
    for await (const part of process.stdin.setEncoding("utf8")) {
      text += part;
      if (text.length > maxInput) throw new Error("what the agent sent is too long.");
    }
    return text;
  },
  say: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
};

async function answerFrom(flags: HookFlags, env: NodeJS.ProcessEnv, { read, say }: HookStreams): Promise<void> {
  const sent = await read();
  const hook = readHook(parse(sent), agentOf(flags));
  if (hook.kind === "undecided") throw new Error(`${hook.why}.`);
  const wait = waitOf(flags);
  const gate = openHookGate({
    url: urlOf(flags, env),
    token: tokenOf(flags, env),
    wait: hook.kind === "before" ? wait : 0,
    signal: AbortSignal.timeout(patienceMs + wait * 1000),
  });
  const answer = await answerHook(hook, gate, { isShadow: flags.shadow === true, now: new Date() });
  if (answer !== undefined) say(`${JSON.stringify(answer)}\n`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("what the agent sent is no JSON.");
  }
}

/**
 * The host's address. INVARIANT: nothing in the working directory names it, as it does for other commands, because the agent
 * that is governed can write there.
 */
function urlOf({ url }: HookFlags, env: NodeJS.ProcessEnv): string {
  const named = url ?? env["TURNPIKE_URL"] ?? "";
  if (URL.canParse(named) && /^https?:/.test(named)) return named;
  throw new Error(
    `${url === undefined ? "TURNPIKE_URL" : "--url"} is not the address of a host, such as http://127.0.0.1:8787.`,
  );
}

function tokenOf({ "token-file": tokenFile }: HookFlags, env: NodeJS.ProcessEnv): string {
  const where = tokenFile === undefined ? "TURNPIKE_TOKEN" : `--token-file ${tokenFile}`;
  const token = (tokenFile === undefined ? (env["TURNPIKE_TOKEN"] ?? "") : textOf(tokenFile)).trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new Error(`${where} has no token.`);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Error(`--token-file ${file} cannot be read.`, { cause });
  }
}

function agentOf({ agent }: HookFlags): CodingAgent | undefined {
  const found = codingAgents.find((name) => name === agent);
  if (agent === undefined || found !== undefined) return found;
  throw new Error(`--agent ${agent} is none of ${codingAgents.join(", ")}.`);
}

/** Throws for what is no time that a host holds a request for. */
export function waitOf({ wait = "0" }: Pick<HookFlags, "wait">): number {
  if (/^(?:[0-5]?\d|60)$/.test(wait)) return Number(wait);
  throw new Error(`--wait ${wait} is no number of seconds from 0 to 60.`);
}
