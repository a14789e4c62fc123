import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { createLineTransport } from "./line-transport.ts";
import type { RateLimiterOptions } from "./rate-limiter.ts";

const limits = { maxBytes: 100, maxNodes: 1000, maxDepth: 100, maxLinesPerSecond: 5 };

function closing(transport: Transport): Promise<string> {
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  return new Promise((resolve) => (transport.onclose = () => resolve("closed")));
}

/** A program of which only the streams are there. Each entry of `written` is what one write brought. */
async function startProgram(options: RateLimiterOptions = {}) {
  const output = new PassThrough();
  const written: string[] = [];
  const input = new Writable({
    writev(chunks, done) {
      written.push(chunks.map(({ chunk }) => (chunk as Buffer).toString()).join(""));
      done();
    },
  });
  const heard: unknown[] = [];
  const transport = createLineTransport({ output, input }, limits, options);
  const closed = closing(transport);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  transport.onmessage = (message) => void heard.push(message);
  await transport.start();
  return { transport, output, input, heard, written, closed };
}

const nine = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const request = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call" }) as const;
const notification = { jsonrpc: "2.0", method: "notifications/progress" } as const;

/** A clock that only waits move. */
function stoppedClock() {
  let now = 100;
  const waits: number[] = [];
  const wait = (ms: number) => Promise.resolve((now += waits[waits.push(ms) - 1] ?? 0));
  let floods = 0;
  return { waits, floods: () => floods, options: { clock: () => now, wait, onFlood: () => (floods += 1) } };
}

describe("lines of a program", () => {
  test("are messages, also in pieces, and one that is no JSON is left out", async () => {
    const { output, heard, closed } = await startProgram();
    for (const chunk of ['{"a":', "1}\nBanner\n\n", '{"b":2}\r\n{"c"']) output.write(chunk);
    output.end();
    await closed;
    expect(heard).toEqual([{ a: 1 }, { b: 2 }]);
  });

  test("that come too fast are slowed down to so many a second, which is said once, and none is lost", async () => {
    const { options, waits, floods } = stoppedClock();
    const { output, heard, closed } = await startProgram(options);
    output.write(nine);
    output.end(nine);
    await closed;
    expect(heard).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(waits).toEqual([1000, 1000, 1000]);
    expect(floods()).toBe(1);
  });

  test("that come in their time are never slowed down", async () => {
    let now = 0;
    const clock = () => (now += 250);
    const wait = () => Promise.reject(new Error("waited"));
    const { output, heard, closed } = await startProgram({ clock, wait });
    output.end(nine);
    await closed;
    expect(heard).toHaveLength(9);
  });

  for (const row of [
    { name: "requests of the host are answered with", sent: [1, 2, 3, 4].map(request), waits: [] },
    {
      name: "notifications of the host are followed by",
      sent: [notification, notification, notification, notification],
      waits: [1000],
    },
  ]) {
    test(`that ${row.name} are ${row.waits.length > 0 ? "" : "not "}a flood`, async () => {
      const { options, waits } = stoppedClock();
      const { transport, output, heard, closed } = await startProgram(options);
      await Promise.all(row.sent.map((message) => transport.send(message)));
      output.end(nine);
      await closed;
      expect(heard).toHaveLength(9);
      expect(waits).toEqual(row.waits);
    });
  }
});

describe("messages to a program", () => {
  test("that are sent together are written together, each as a line", async () => {
    const { transport, written } = await startProgram();
    await Promise.all([transport.send(request(1)), transport.send(request(2))]);
    await transport.send(notification);
    expect(written).toEqual([
      '{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n{"jsonrpc":"2.0","id":2,"method":"tools/call"}\n',
      '{"jsonrpc":"2.0","method":"notifications/progress"}\n',
    ]);
  });

  test("that it does not take any more are refused, and the connection is closed", async () => {
    const { transport, input, closed } = await startProgram();
    input.destroy(new Error("gone"));
    await expect(transport.send(request(1))).rejects.toThrow("destroyed");
    await closed;
    await expect(transport.send(request(2))).rejects.toThrow("The connection is closed.");
  });
});

test("what a program writes after the end of its connection is read, so that it can end, and is not passed on", async () => {
  const { transport, output, heard } = await startProgram();
  await transport.close();
  output.end('{"late":1}\n'.repeat(10_000));
  await once(output, "end");
  expect(heard).toEqual([]);
});

test("lines that wait to be passed on are left out when the connection is closed", async () => {
  const wait = () => transport.close();
  const { transport, output, heard, closed } = await startProgram({ clock: () => 0, wait });
  output.write(nine);
  await closed;
  output.end();
  await once(output, "end");
  expect(heard).toEqual([1, 2, 3, 4, 5]);
});

test("a program that has ended before it is listened to closes its connection", async () => {
  const output = new PassThrough();
  output.end();
  output.resume();
  await once(output, "end");
  const transport = createLineTransport({ output, input: new PassThrough() }, limits);
  const closed = closing(transport);
  await transport.start();
  await expect(closed).resolves.toBe("closed");
});
