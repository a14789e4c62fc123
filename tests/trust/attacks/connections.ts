import { once } from "node:events";
import type { Socket } from "node:net";
import { open } from "../../../packages/host/test/raw-http.ts";
import { attack, type Attack, type Group } from "./attack.ts";
import { raw } from "./surfaces.ts";
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

const rows: readonly Attack[] = [
  attack({
    name: "Somebody holds every connection, so that nobody learns whether the host lives",
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
