// The same steps as handlers of Restate, whose server runs beside this process and stores them. Everything is as it comes, except for
// logs, addresses and telemetry.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http2";
import { createRequire } from "node:module";
import { createServer as createSocket } from "node:net";
import * as restate from "@restatedev/restate-sdk";
import { connect } from "@restatedev/restate-sdk-clients";
import { answerOrders, measureCpu } from "./work.js";

// The SDK is written for newer versions of Node, which have this.
Promise.withResolvers ??= () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

const steps = restate.service({
  name: "steps",
  handlers: {
    async run(context, count) {
      for (let place = 0; place < count; place += 1)
        await context.run(`step-${place}`, () => ({ said: "something short", place }));
    },
  },
});

async function freePort() {
  const socket = createSocket().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return port;
}

/** Starts the server in this folder, and resolves when its management answers. */
async function startServer() {
  const [admin, ingress, fabric] = [await freePort(), await freePort(), await freePort()];
  const { PATH } = process.env;
  const env = {
    PATH,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "error",
    RESTATE_BASE_DIR: "restate-data",
  };
  const server = createRequire(import.meta.url).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
  const child = spawn(server, ["--no-logo"], { env, stdio: ["ignore", "ignore", "inherit"] });
  process.once("exit", () => child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${admin}`;
  while (!(await fetch(`${url}/health`).catch(() => ({ ok: false }))).ok) {
    if (child.exitCode !== null) throw new Error(`Restate's server ended with ${child.exitCode}.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { child, url, ingress: `http://127.0.0.1:${ingress}` };
}

const own = createServer(restate.createEndpointHandler({ services: [steps], logger: () => {} })).listen(0, "127.0.0.1");
await once(own, "listening");
const { child, url, ingress } = await startServer();
const registered = await fetch(`${url}/deployments`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ uri: `http://127.0.0.1:${own.address().port}` }),
});
if (!registered.ok) throw new Error(`Restate refused the service: ${await registered.text()}`);
const client = connect({ url: ingress }).serviceClient(steps);

answerOrders({
  steps: ({ ids, count }) => measureCpu(() => Promise.all(ids.map(() => client.run(count)))),
  async close() {
    child.kill("SIGTERM");
    await once(child, "exit");
  },
});
