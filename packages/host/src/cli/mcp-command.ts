import type { Command } from "commander";
import { ConfigError } from "../base/index.ts";
import { defaultUrl, urlMeans } from "./connection.ts";
import { readTokenFile, readUrl } from "./flags.ts";

interface BridgeFlags {
  url: string;
  tokenFile?: string;
}

/**
 * `mcp`: for clients that start a program and talk to it. Only the client reads standard output. Returns the command, below
 * which those stand that are about MCP servers.
 */
export function addMcpCommand(program: Command, onFailure: () => void): Command {
  return (
    program
      .command("mcp")
      // Flags behind `review` and its like are theirs.
      .enablePositionalOptions()
      .description(
        "Join an MCP client on standard input and output to a host. The token is TURNPIKE_TOKEN's unless a file is given.",
      )
      .addHelpText("after", "\nExample:\n  turnpike mcp --url http://127.0.0.1:8787")
      .option("--url <url>", urlMeans, (text) => readUrl("--url", text), defaultUrl)
      .option("--config <file>", "the host's configuration file (turnpike.config.json when it exists)")
      .option("--token-file <file>", "file with the token of a credential")
      .exitOverride()
      .action(async ({ url, tokenFile }: BridgeFlags) => {
        const token = tokenFrom(tokenFile);
        const { runBridge } = await import("./mcp-bridge.ts");
        const outcome = await runBridge({
          url,
          token,
          input: process.stdin,
          write: (line) => void process.stdout.write(`${line}\n`),
          report: (problem) => void process.stderr.write(`${problem}\n`),
        });
        if (outcome === "some failed") onFailure();
      })
  );
}

function tokenFrom(file: string | undefined): string {
  if (file !== undefined) return readTokenFile(file);
  const token = process.env["TURNPIKE_TOKEN"]?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new ConfigError("There is no token: set TURNPIKE_TOKEN, or name a file that holds one with --token-file.");
}
