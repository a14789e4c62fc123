import { once } from "node:events";
import type { Socket } from "node:net";
import { open } from "../../../packages/host/test/raw-http.ts";
import { eventually } from "../../../packages/host/test/host-calls.ts";
import { attack, type Attack, type Group } from "./attack.ts";
import { http, openStream, raw } from "./surfaces.ts";
import { openWorld, type World } from "./world.ts";

const close = "Host: a\r\nConnection: close\r\n\r\n";
const sockets = 30;

/** Holds more connections than the host has, some that were used and some that were not; `end` gives them back. */
async function hold({ url }: World): Promise<() => void> {
  const held: Socket[] = [];
  for (let place = 0; place < 2 * sockets; place += 1) {
    const socket = open(url).on("error", () => {});
    held.push(socket);
    await once(socket, "connect");
    if (place % 2 === 0) continue;
    socket.write("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(socket, "data");
  }
  return () => held.forEach((socket) => socket.destroy());
}

/** A stream that is open, once there is a slot for it. */
async function stream(world: World) {
  let opened = await openStream(world, "auditor");
  await eventually(async () => {
    if (opened.says !== "200") opened = await openStream(world, "auditor");
    if (opened.says !== "200") throw new Error(`It is ${opened.says}.`);
  });
  return opened;
}

const rows: readonly Attack[] = [
  attack({
    name: "An operator opens streams until the host has no connection for anything else",
    surface: "HTTP",
    prepare: (world) => Promise.all(Array.from({ length: sockets / 2 }, () => stream(world))),
    attack: (world) => openStream(world, "acmeAuditor"),
    held: "429 rate_limited",
    async control(world, streams) {
      const call = await http(world, "/v1/reach", { as: "assistant" });
      for (const { leave } of streams) leave();
      const other = await stream(world);
      other.leave();
      return { says: `${call.says}, then a stream: ${other.says}`, text: call.text };
    },
    succeeds: "200 computed, then a stream: 200",
  }),
  attack({
    name: "An attacker holds every connection, so that no one learns whether the host lives",
    surface: "HTTP",
    prepare: hold,
    attack: (world) => raw(world, `GET /v1/reach HTTP/1.1\r\nAUTH${close}`),
    held: "503 overloaded",
    async control(world, end) {
      const health = await raw(world, `GET /health HTTP/1.1\r\n${close}`);
      const ready = await raw(world, `GET /ready HTTP/1.1\r\n${close}`);
      end();
      return { says: `${health.says}, ${ready.says}`, text: health.text + ready.text };
    },
    succeeds: "200, 200",
  }),
];

export const connections: Group = {
  name: "connections",
  open: () => openWorld({ flags: { "limits.sockets": String(sockets) } }),
  attacks: rows,
};
