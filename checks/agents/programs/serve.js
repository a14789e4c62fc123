// Runs an agent of one framework for each line of standard input, and prints what its model was told. An effect writes a line
// into a diary, which is how the test knows that it has happened.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { connectGate } from "turnpike/client";

const [framework, ...versions] = process.argv.slice(2);
const { play } = await import(`./${framework}.js`);
print({ ready: true });

function print(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

async function answer({ url, token, diary, effect, ...scenario }) {
  const gate = connectGate({ url, token });
  const controller = new AbortController();
  /** What the tool does. */
  const sendMail = ({ to }, signal) => {
    appendFileSync(diary, `sent to ${to}\n`);
    if (effect === "hang") return new Promise(() => {});
    if (effect === "fail") throw new Error("The mail server is down.");
    if (effect !== "cancel") return `sent to ${to}`;
    controller.abort(new Error("The user cancelled."));
    signal?.throwIfAborted();
    return `sent to ${to}`;
  };
  try {
    return await play({ ...scenario, gate, sendMail, signal: controller.signal, versions });
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  } finally {
    await gate.close();
  }
}

for await (const line of createInterface(process.stdin)) print(await answer(JSON.parse(line)));
process.exit();
