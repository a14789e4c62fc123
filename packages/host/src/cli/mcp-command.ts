import type { Command } from "commander";
import { callerToken, contextMeans, defaultUrl, urlMeans } from "./connection.ts";
import type { HostPlace } from "./find-host.ts";
import { readUrl } from "./flags.ts";

interface BridgeFlags {
  url: string;
  tokenFile?: string;
  place?: HostPlace;
}

/**
 * `mcp`: for clients that start a program and talk to it. Only the client reads standard output. Returns the command, below
 * which those about MCP servers are.
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
      .option("--context <name>", contextMeans)
      .option("--config <file>", "the host's configuration file (turnpike.config.json when it exists)")
      .option("--token-file <file>", "file with the token of a credential")
      .exitOverride()
      .action(async (flags: BridgeFlags) => {
        const { url } = flags;
        const token = callerToken(flags);
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
