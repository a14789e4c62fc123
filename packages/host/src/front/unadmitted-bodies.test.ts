import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { jsonReply, type Reply, toHttpError, errorReply } from "turnpike/http";
import { exchange, open } from "../../test/raw-http.ts";
import { loadConfig } from "../compose/config.ts";
import { startServer } from "./node-server.ts";
import { BodyState } from "./read-limited.ts";
import { createUnadmittedBodies, type UnadmittedBodies } from "./unadmitted-bodies.ts";

const kib = 1024;

function stateOf(broken: string[], name: string): BodyState {
  const state = new BodyState();
  state.whenBroken(() => void broken.push(name));
  return state;
}

describe("what is buffered for unknown senders", () => {
  test("is counted until it is released, of each sender and of all", () => {
    const bodies = createUnadmittedBodies();
    const [one, other] = [{}, {}];
    const first = bodies.open(one, new BodyState());
    expect(first.most).toBe(16 * kib);
    first.onPiece(10 * kib);
    const second = bodies.open(one, new BodyState());
    expect([second.most, bodies.open(other, new BodyState()).most]).toEqual([6 * kib, 16 * kib]);
    first.finish();
    expect(bodies.bytes).toBe(10 * kib);
    first.release();
    first.release();
    expect([bodies.bytes, bodies.open(one, new BodyState()).most]).toEqual([0, 16 * kib]);
  });

  test("never exceeds the ceiling: the body that has been coming for the longest makes room, and none that was read", () => {
    const bodies = createUnadmittedBodies(30 * kib);
    const broken: string[] = [];
    const bodyOf = (name: string) => bodies.open({}, stateOf(broken, name));
    const read = bodyOf("read");
    read.onPiece(10 * kib);
    read.finish();
    const slow = bodyOf("slow");
    slow.onPiece(10 * kib);
    const slower = bodyOf("slower");
    slower.onPiece(10 * kib);
    expect([bodies.bytes, broken]).toEqual([30 * kib, []]);
    const quick = bodyOf("quick");
    quick.onPiece(1);
    expect([bodies.bytes, broken]).toEqual([20 * kib + 1, ["slow"]]);
    // What comes of it afterwards is not buffered, and not counted.
    slow.onPiece(kib);
    expect(bodies.bytes).toBe(20 * kib + 1);
    slow.release();
    expect(bodies.bytes).toBe(20 * kib + 1);
    quick.finish();
    bodyOf("last").onPiece(16 * kib);
    expect([bodies.bytes, broken]).toEqual([26 * kib + 1, ["slow", "slower"]]);
  });

  test("is nothing of a body that does not fit although everything else was read", () => {
    const bodies = createUnadmittedBodies(10);
    const broken: string[] = [];
    const read = bodies.open({}, stateOf(broken, "read"));
    read.onPiece(10);
    read.finish();
    bodies.open({}, stateOf(broken, "late")).onPiece(1);
    expect([bodies.bytes, broken]).toEqual([10, ["late"]]);
  });
});

/** A server whose requests are all of unknown senders, but those to /admitted. */
async function serve(unadmitted: UnadmittedBodies, onRead?: () => Promise<void>): Promise<string> {
  const config = loadConfig({ file: undefined, env: {}, flags: { "listen.port": "0" } });
  const { url, close } = await startServer(
    config,
    async (request): Promise<Reply> => {
      if (request.target === "/admitted") request.admit();
      try {
        const read = (await request.body.bytes()).length;
        if (request.target === "/held") await onRead?.();
        return jsonReply({ read });
      } catch (error) {
        return errorReply(toHttpError(error, request.signal), "request-1");
      }
    },
    { onRefused() {}, tls: { onReload() {}, onError() {} } },
    unadmitted,
  );
  onTestFinished(close);
  return url;
}

const head = (path: string, more: string): string => `POST ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n\r\n`;
const chunked = "Transfer-Encoding: chunked";
const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`;

describe("over sockets", () => {
  test("a length that is too long is refused by the head, before anything of the body has come", async () => {
    const bodies = createUnadmittedBodies();
    const url = await serve(bodies);
    const { statuses, isClosed } = await exchange(url, { send: head("/", `Content-Length: ${16 * kib + 1}`) });
    expect([statuses, isClosed, bodies.bytes]).toEqual([[413], true, 0]);
    const whole = { send: head("/", `Content-Length: ${16 * kib}`) + "x".repeat(16 * kib), answers: 1 };
    expect((await exchange(url, whole)).text).toContain(`{"read":${16 * kib}}`);
  });

  test("a body that does not say its length is refused when it is too long", async () => {
    const url = await serve(createUnadmittedBodies());
    const send = head("/", chunked) + chunk(16 * kib) + chunk(1);
    expect((await exchange(url, { send })).statuses).toEqual([413]);
  });

  test("an admitted sender sends as much as the host takes", async () => {
    const bodies = createUnadmittedBodies();
    const url = await serve(bodies);
    const send = `${head("/admitted", chunked)}${chunk(500 * kib)}0\r\n\r\n`;
    expect((await exchange(url, { send, answers: 1 })).text).toContain(`{"read":${500 * kib}}`);
  });

  test("one that was read whole counts until it is answered, and does not make room for one that is still coming", async () => {
    const bodies = createUnadmittedBodies(20 * kib);
    const held = new EventEmitter();
    const isRead = once(held, "read");
    const url = await serve(bodies, async () => {
      const continues = once(held, "continues");
      held.emit("read");
      await continues;
    });
    const first = { send: head("/held", `Content-Length: ${10 * kib}`) + "x".repeat(10 * kib), answers: 1 };
    const answered = exchange(url, first);
    await isRead;
    const { statuses } = await exchange(url, { send: head("/", chunked) + chunk(11 * kib) });
    expect([statuses, bodies.bytes]).toEqual([[503], 10 * kib]);
    held.emit("continues");
    expect((await answered).text).toContain(`{"read":${10 * kib}}`);
  });

  test("of many who hold their bodies back no more is buffered than the ceiling, and who sends theirs at once is answered", async () => {
    const bodies = createUnadmittedBodies(200 * kib);
    const url = await serve(bodies);
    const slow: { socket: Socket; text: string }[] = [];
    onTestFinished(() => slow.forEach(({ socket }) => socket.destroy()));
    const peak = { bytes: 0 };
    for (let sender = 0; sender < 60; sender += 1) {
      const held = { socket: open(url), text: "" };
      held.socket.setEncoding("latin1").on("data", (part: string) => (held.text += part));
      held.socket.on("error", () => {});
      held.socket.write(head("/", chunked) + chunk(10 * kib));
      slow.push(held);
      await vi.waitFor(() => expect(bodies.bytes).toBeGreaterThanOrEqual(Math.min(sender + 1, 20) * 10 * kib), waiting);
      peak.bytes = Math.max(peak.bytes, bodies.bytes);
    }
    expect(peak.bytes).toBe(200 * kib);
    const quick = { send: head("/", "Content-Length: 2") + "{}", answers: 1 };
    expect((await exchange(url, quick)).statuses).toEqual([200]);
    // Those that came first made room, and are told so.
    await vi.waitFor(() => expect(slow.slice(0, 40).every(({ text }) => text.includes("503"))).toBe(true), waiting);
    expect(slow.slice(41).map(({ text }) => text)).toEqual(Array.from({ length: 19 }, () => ""));
    for (const { socket } of slow) {
      socket.destroy();
      if (!socket.closed) await once(socket, "close");
    }
    await vi.waitFor(() => expect(bodies.bytes).toBe(0), waiting);
  });
});

const waiting = { timeout: 20_000, interval: 5 };
