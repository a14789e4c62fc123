#!/usr/bin/env node
import { commandFile } from "../dist/cli/command-file.js";

const { runCommand } = await import(commandFile());

const args = process.argv.slice(2);

// Whoever read the output has gone, as `head` does after some lines: a command ends as a shell expects it, and a host goes on.
process.stdout.on("error", (error) => {
  if (error.code !== "EPIPE") throw error;
  if (args[0] !== "serve") process.exit(141);
});

process.exitCode = await runCommand(args);
