// One thread of scripts/differential.js: runs the part that it is told to, and tells what it saw.
import { parentPort } from "node:worker_threads";

const { runDifferential } = await import(
  new URL("../.build/differential/differential/differential.js", import.meta.url).href
);
const { createKernel } = await import(new URL("../packages/turnpike/dist/kernel/index.js", import.meta.url).href);

parentPort.on("message", async ({ seed, decisions }) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort.postMessage({ seed, ...(await runDifferential({ createKernel, seed, decisions })) });
});
