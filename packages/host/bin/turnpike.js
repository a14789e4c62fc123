#!/usr/bin/env node
import { commandFile } from "../dist/cli/command-file.js";

const args = process.argv.slice(2);

if (isHook()) await answerHook();
else await run();

async function run() {
  const { runCommand, startedAs } = await import(commandFile("cli"));

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
}

/** Whether an agent runs this at one of its hooks: at every call of a tool. It loads nothing that it does not need. */
function isHook() {
  return (
    args[0] === "hook" &&
    args[1] !== "install" &&
    args[1] !== "help" &&
    !args.some((word) => /^(-h|--help)$/.test(word))
  );
}

/** INVARIANT: whatever breaks, a hook ends with code 2 and a reason. An agent runs the tool after any other failure. */
async function answerHook() {
  // Node would end with another code when nothing is left to wait for.
  process.exitCode = 2;
  const fail = (error) => {
    process.stderr.write(`Turnpike: It was denied because the hook broke: ${error?.message ?? error}\n`);
    process.exit(2);
  };
  process.on("uncaughtException", fail).on("unhandledRejection", fail);
  process.stdout.on("error", fail);
  process.stderr.on("error", () => process.exit(2));
  try {
    const { runHookLine } = await import(commandFile("hook"));
    process.exitCode = await runHookLine(args.slice(1), process.env);
  } catch (error) {
    fail(error);
  }
}
