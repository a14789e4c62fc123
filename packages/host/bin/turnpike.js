#!/usr/bin/env node
import { commandFile } from "../dist/cli/command-file.js";

const { runCommand, startedAs } = await import(commandFile());

const args = process.argv.slice(2);

// The reader of the output has gone, as `head` does after some lines. A command then ends as a shell expects it; a host continues
// without its output.
const isHost = args[0] === "serve";
process.stdout.on("error", (error) => {
  if (isHost) return;
  if (error.code !== "EPIPE") throw error;
  process.exit(141);
});
if (isHost) process.stderr.on("error", () => {});

process.exitCode = await runCommand(args, startedAs(process.env, process.argv[1] ?? ""));
