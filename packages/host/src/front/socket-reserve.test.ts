import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { fixedLimits } from "../shared/index.ts";
import { createSocketReserve } from "./socket-reserve.ts";

const size = fixedLimits.reservedSockets.value;

function socketFrom(remotePort: number): Socket {
  return Object.defineProperties(new Socket(), {
    remoteAddress: { value: "192.0.2.1" },
    remotePort: { value: remotePort },
  });
}

/** Connections from ports that count up from this one, accepted one after the other. */
function connect(reserve: ReturnType<typeof createSocketReserve>, first: number, count: number): Socket[] {
  return Array.from({ length: count }, (_, place) => {
    const socket = socketFrom(first + place);
    reserve.add(socket);
    return socket;
  });
}

function asks(socket: Socket, url: string): IncomingMessage {
  return { socket, url } as IncomingMessage;
}

test("within the limit everything is answered", () => {
  const reserve = createSocketReserve(2);
  const sockets = connect(reserve, 1, 2);
  expect(sockets.map((socket) => reserve.has(socket))).toEqual([false, false]);
  expect(sockets.map((socket) => reserve.refusalOf(asks(socket, "/v1/authorize")))).toEqual([undefined, undefined]);
});

test("beyond the limit only the health of the host is told", () => {
  const reserve = createSocketReserve(2);
  const [, , beyond] = connect(reserve, 1, 3) as [Socket, Socket, Socket];
  expect(reserve.has(beyond)).toBe(true);
  expect(reserve.refusalOf(asks(beyond, "/v1/authorize"))).toMatchObject({ status: 503 });
  const answered = ["/health", "/ready", "/health?verbose"];
  expect(answered.filter((url) => reserve.refusalOf(asks(beyond, url)) === undefined)).toEqual(answered);
});

test("a connection of the reserve is one like any other as soon as there is room", () => {
  const reserve = createSocketReserve(1);
  const [first, beyond] = connect(reserve, 1, 2) as [Socket, Socket];
  reserve.remove(first);
  expect(reserve.refusalOf(asks(beyond, "/v1/authorize"))).toBeUndefined();
  expect(reserve.has(beyond)).toBe(false);
  const [next] = connect(reserve, 10, 1) as [Socket];
  expect(reserve.has(next)).toBe(true);
});

test("when the reserve is full, the one of it goes that has been open for longest", () => {
  const reserve = createSocketReserve(1);
  const sockets = connect(reserve, 1, 1 + size);
  expect(sockets.map(({ destroyed }) => destroyed)).not.toContain(true);
  const [newest] = connect(reserve, 1000, 1) as [Socket];
  expect(sockets.map(({ destroyed }) => destroyed).indexOf(true)).toBe(1);
  expect(sockets.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  expect(newest.destroyed).toBe(false);
  expect(reserve.refusalOf(asks(newest, "/health"))).toBeUndefined();
});

test("a connection that ends leaves its place in the reserve", () => {
  const reserve = createSocketReserve(1);
  const [, ...reserved] = connect(reserve, 1, 1 + size);
  reserve.remove(reserved[0] as Socket);
  connect(reserve, 1000, 1);
  expect(reserved.filter(({ destroyed }) => destroyed)).toEqual([]);
});

test("a server accepts more connections than may be open, because those that were just closed still count", () => {
  expect(createSocketReserve(100).maxConnections).toBe(100 + 2 * size);
});
