import { join } from "node:path";
import { dataFolder } from "./admin/admin-token.ts";
import { commandLine } from "./commands/words.ts";
import type { Config } from "./config.ts";
import { isPostgres } from "./database/location.ts";
import { demoScreen } from "./demo/demo-screen.ts";
import { openDemoWorld } from "./demo/demo-world.ts";
import { createLog } from "./log.ts";
import { openRuntimes } from "./runtimes.ts";
import { startHost } from "./serve.ts";

/** Runs until SIGTERM or SIGINT, whenever that comes. */
export async function runHost(config: Config, isDemo: boolean, print: (text: string) => void): Promise<void> {
  const told = new Promise<void>((resolve) => {
    process.on("SIGTERM", resolve);
    process.on("SIGINT", resolve);
  });
  const log = createLog(isDemo ? { level: "warn" } : config.log);
  const isScripted = isDemo && config.runtime.kind === "none";
  const runtimes = await openRuntimes(isScripted ? { kind: "scripted" } : config.runtime, process.env);
  const host = await startHost(config, { log, ...runtimes });
  try {
    if (isDemo)
      print(demoScreen(host.url, operatorFlags(host.url, config), await openDemoWorld(host.stores, tokenFile(config))));
    else print(emptyScreen(host.url, config));
    await told;
  } finally {
    await host.close();
  }
}

function tokenFile(config: Config): string {
  return join(dataFolder(config), "demo-tokens.json");
}

/** How an operator's command finds this host and its token. */
function operatorFlags(url: string, { database }: Config): string {
  return commandLine(["--url", url, ...(isPostgres(database) ? [] : ["--database", database])]);
}

function emptyScreen(url: string, config: Config): string {
  const where = operatorFlags(url, config);
  return `Turnpike runs at ${url}
  health ${url}/health   ready ${url}/ready   api ${url}/docs

Nobody may do anything yet. The first credential and the first grant, from another terminal:
  turnpike credential create ${where} --tenant acme --actor agent:assistant --owner human:alice --purpose support
  turnpike grant create ${where} --tenant acme --to agent:assistant --from human:alice --resource files/notes --action read list`;
}
