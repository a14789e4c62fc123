import { readFileSync } from "node:fs";
import { join } from "node:path";
import { consoleLink, createCodeFor, type OperatorToken } from "../access/index.ts";
import { SignInConfigSchema } from "../people/index.ts";
import { ConfigError, dataFolder, isLoopback, isPostgres, locationOf, programName } from "../shared/index.ts";
import { commandLine } from "./format.ts";
import { type Config, type Host, startHost } from "../compose/index.ts";
import {
  type DemoProvider,
  demoScreen,
  type DemoTokens,
  openDemoProvider,
  openDemoWorld,
  paymentTool,
} from "../demo/index.ts";
import type { FileStore } from "../files/index.ts";
import { createLog } from "../telemetry/index.ts";
import { openRuntimes } from "../turns/index.ts";

/** The options of `serve` besides the configuration. */
export interface RunOptions {
  isDemo: boolean;
  isNewOperatorTokenWanted: boolean;
  /** Whether a program reads what is printed. */
  isJson: boolean;
}

/** Runs a host until SIGTERM or SIGINT, also when the signal comes while it starts. */
export async function runHost(config: Config, options: RunOptions, print: (text: string) => void): Promise<void> {
  const { isDemo, isNewOperatorTokenWanted, isJson } = options;
  if (isDemo && !config.admin.tokenFile) {
    throw new ConfigError("The demo stores its tokens in files. Start it without --no-token-file (admin.tokenFile).");
  }
  const stopped = new Promise<void>((resolve) => {
    process.on("SIGTERM", resolve);
    process.on("SIGINT", resolve);
  });
  const log = createLog(isDemo ? { level: "warn" } : config.log);
  const isScripted = isDemo && config.runtime.kind === "none";
  const runtimes = await openRuntimes(isScripted ? { kind: "scripted" } : config.runtime, process.env);
  let demo: { stores: Host["stores"]; tokens: DemoTokens } | undefined;
  const prepare = async (stores: Host["stores"]): Promise<void> => {
    if (isDemo) demo = { stores, tokens: await openDemoWorld(stores, tokenFile(config)) };
  };
  const files = (): FileStore => {
    if (demo === undefined) throw new Error("The demo has no files yet.");
    return demo.stores.files;
  };
  const tools = isDemo ? [paymentTool(files)] : [];
  let url: string | undefined;
  const ownProvider = isDemo && mayHaveProvider(config) ? await openDemoProvider(() => url) : undefined;
  const host: Host = await startHost(withProvider(config, ownProvider), {
    log,
    ...runtimes,
    tools,
    isDemo,
    ownProvider,
    isNewOperatorTokenWanted,
    prepare,
  });
  ({ url } = host);
  try {
    if (isJson) print(JSON.stringify(startedFacts(host, config, isDemo)));
    else if (demo === undefined) print(await startScreen(host, config));
    else {
      const links = { url, console: await operatorLink(host), hasPeople: ownProvider !== undefined };
      print(demoScreen(links, operatorFlags(host.url, config), demo.tokens));
    }
    await stopped;
  } finally {
    await host.close();
  }
}

/** INVARIANT: a provider that signs anyone in as anyone is reached from this machine alone, and is never beside another. */
function mayHaveProvider({ listen, publicUrl, signIn }: Config): boolean {
  return isLoopback(listen.host) && publicUrl === undefined && signIn === undefined;
}

function withProvider(config: Config, provider: DemoProvider | undefined): Config {
  return provider === undefined ? config : { ...config, signIn: SignInConfigSchema.parse(provider.settings) };
}

/** What a program has to know of a host that has started. A token is among it only when it is stored nowhere else. */
function startedFacts({ url, origin, operatorToken }: Host, config: Config, isDemo: boolean): object {
  return {
    url,
    console: `${origin}/console`,
    ...(operatorToken.kind === "in file" && { operatorTokenFile: operatorToken.file }),
    ...(operatorToken.kind === "shown once" && { operatorToken: operatorToken.token }),
    ...(isDemo && { demoTokenFile: tokenFile(config) }),
  };
}

/** A link that signs the operator of this host in, once. */
async function operatorLink({ origin, operatorToken, stores }: Host): Promise<string> {
  if (operatorToken.kind !== "in file") return `${origin}/console`;
  const token = readFileSync(operatorToken.file, "utf8").trim();
  return consoleLink(origin, (await createCodeFor(stores, token)).code);
}

function tokenFile(config: Config): string {
  return join(dataFolder(config.database), "demo-tokens.json");
}

/** How an operator's command finds this host and its token. */
function operatorFlags(url: string, { database }: Config): string {
  return commandLine(["--url", url, ...(isPostgres(database) ? [] : ["--database", locationOf(database)])]);
}

async function startScreen({ url, origin, operatorToken, stores }: Host, config: Config): Promise<string> {
  const where = operatorFlags(url, config);
  return `Turnpike runs at ${url}
  console ${origin}/console   This prints a link that signs you in:
    ${programName()} console ${where}
  health ${url}/health   ready ${url}/ready   api ${url}/docs
${tokenText(operatorToken)}
${(await stores.grants.hasAny()) ? knownText(where) : emptyText(where)}`;
}

function emptyText(where: string): string {
  return `No one may do anything yet. The first credential and the first grant, from another terminal:
  ${programName()} credential create ${where} --tenant acme --actor agent:assistant --owner human:alice --purpose support
  ${programName()} grant create ${where} --tenant acme --to agent:assistant --from human:alice --resource files/notes --action read list`;
}

function knownText(where: string): string {
  return `The grants in its database hold. Who may do what, from another terminal:
  ${programName()} tenant list ${where}
  ${programName()} grant list ${where} --state live`;
}

/** What the operator has to know about the token; nothing when the commands find it by themselves. */
function tokenText(operatorToken: OperatorToken): string {
  switch (operatorToken.kind) {
    case "in file":
      return "";
    case "shown once": {
      const { token, removedFile } = operatorToken;
      const removed = removedFile === undefined ? "" : `${removedFile} is removed, and the token in it is revoked.\n`;
      return `
${removed}The operator's token, shown this once and stored nowhere. The commands take it from this variable:
  export TURNPIKE_ADMIN_TOKEN=${token}
`;
    }
    case "shown before":
      return `
The operator's token was shown when it was made: set TURNPIKE_ADMIN_TOKEN to it. If it is lost, start once with
--new-operator-token, which shows a new one and revokes the old.
`;
  }
}
