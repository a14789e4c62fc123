// Runs commands of `turnpike` one after the other in one process, as `bin/turnpike.js` runs one, and tells its parent what
// each printed and how it ended: a process for each would spend most of its time on starting.
import { commandFile } from "../../packages/host/dist/cli/command-file.js";

const { runCommand } = await import(commandFile());

const begunWith = { ...process.env };
const printed = { stdout: "", stderr: "" };
for (const stream of ["stdout", "stderr"]) {
  process[stream].write = (text) => {
    printed[stream] += text;
    return true;
  };
}

async function run({ id, folder, args, env }) {
  Object.assign(printed, { stdout: "", stderr: "" });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, begunWith, { HOME: folder }, env);
  process.chdir(folder);
  const code = await runCommand(args);
  process.send({ id, code, ...printed });
}

let last = Promise.resolve();
process.on("message", (message) => {
  last = last.then(() => run(message));
});
process.on("disconnect", () => process.exit());
