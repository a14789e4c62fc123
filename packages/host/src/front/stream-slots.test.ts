import { expect, test } from "vitest";
import type { Reply } from "turnpike/http";
import { openRecord } from "../access/index.ts";
import { answerInSlot, createStreamSlots, type StreamLimit } from "./stream-slots.ts";

const refused = { status: 429, code: "rate_limited", headers: { "retry-after": "10" } };

/** A request of a caller. */
function requestOf(credentialId: string, tenant = "acme", signal = new AbortController().signal) {
  const record = openRecord("request-1");
  record.facts = { tenant, credentialId };
  return { request: { signal }, record };
}

/** An answer that is open until it is ended or broken. */
function openAnswer() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  const answer = (): Promise<Reply> => Promise.resolve({ status: 200, headers: {}, body });
  return {
    answer,
    say: (byte: number) => controller?.enqueue(new Uint8Array([byte])),
    end: () => controller?.close(),
    fail: () => controller?.error(new Error("broken")),
  };
}

async function opened(limit: StreamLimit, request: ReturnType<typeof requestOf>, made = openAnswer()) {
  const { body } = await answerInSlot(limit, request, made.answer);
  return { ...made, reader: (body as ReadableStream<Uint8Array>).getReader() };
}

const limitOf = (perCredential: number, sockets: number): StreamLimit => ({
  slots: createStreamSlots(sockets),
  perCredential,
});

test("a credential has as many streams as it may, and another one its own", async () => {
  const limit = limitOf(2, 100);
  await opened(limit, requestOf("one"));
  await opened(limit, requestOf("one"));
  let isAsked = false;
  const third = answerInSlot(limit, requestOf("one"), () => ((isAsked = true), openAnswer().answer()));
  await expect(third).rejects.toMatchObject(refused);
  expect(isAsked).toBe(false);
  await opened(limit, requestOf("two"));
  await opened(limit, requestOf("one", "globex"));
});

test("all streams together have half of the sockets, and one where there is one socket", async () => {
  const limit = limitOf(100, 5);
  await opened(limit, requestOf("one"));
  const second = await opened(limit, requestOf("two"));
  await expect(opened(limit, requestOf("three"))).rejects.toMatchObject(refused);
  await second.reader.cancel();
  await opened(limit, requestOf("three"));
  const alone = limitOf(100, 1);
  await opened(alone, requestOf("one"));
  await expect(opened(alone, requestOf("two"))).rejects.toMatchObject(refused);
});

for (const row of [
  { name: "has ended", close: async ({ end, reader }: Open) => (end(), reader.read()) },
  { name: "is broken", close: async ({ fail, reader }: Open) => (fail(), reader.read().catch(() => {})) },
  { name: "is left by its reader", close: ({ reader }: Open) => reader.cancel() },
])
  test(`a stream that ${row.name} gives its slot back, once`, async () => {
    const limit = limitOf(1, 100);
    const first = await opened(limit, requestOf("one"));
    first.say(7);
    expect((await first.reader.read()).value).toEqual(new Uint8Array([7]));
    await expect(opened(limit, requestOf("one"))).rejects.toMatchObject(refused);
    await row.close(first);
    await first.reader.cancel().catch(() => {});
    await opened(limit, requestOf("one"));
    await expect(opened(limit, requestOf("one"))).rejects.toMatchObject(refused);
  });
type Open = Awaited<ReturnType<typeof opened>>;

test("a stream whose connection is closed gives its slot back, also before it is read", async () => {
  const limit = limitOf(1, 100);
  const leaving = new AbortController();
  await opened(limit, requestOf("one", "acme", leaving.signal));
  await expect(opened(limit, requestOf("one"))).rejects.toMatchObject(refused);
  leaving.abort();
  await opened(limit, requestOf("one", "acme", leaving.signal));
  await opened(limit, requestOf("one"));
});

test("a stream that ends in several ways gives one slot back, and none of others", async () => {
  const limit = limitOf(100, 4);
  const leaving = new AbortController();
  await opened(limit, requestOf("other"));
  const twice = await opened(limit, requestOf("one", "acme", leaving.signal));
  leaving.abort();
  await twice.reader.cancel();
  await opened(limit, requestOf("one"));
  await expect(opened(limit, requestOf("one"))).rejects.toMatchObject(refused);
});

test("an answer that is no stream, and one that fails, give their slot back", async () => {
  const limit = limitOf(1, 100);
  const plain = (): Promise<Reply> => Promise.resolve({ status: 200, headers: {}, body: "{}" });
  expect(await answerInSlot(limit, requestOf("one"), plain)).toMatchObject({ body: "{}" });
  await expect(answerInSlot(limit, requestOf("one"), () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const response = await answerInSlot(limit, requestOf("one"), () =>
    Promise.resolve(new Response("data", { status: 201, headers: { "x-own": "yes" } })),
  );
  expect([response.status, (response as Response).headers.get("x-own")]).toEqual([201, "yes"]);
  expect(await (response as Response).text()).toBe("data");
  await opened(limit, requestOf("one"));
});

test("what is held shares the slots of streams, and gives a slot back once", async () => {
  const limit = limitOf(9, 4);
  const giveBack = limit.slots.takeAny();
  await opened(limit, requestOf("one"));
  expect(limit.slots.takeAny()).toBeUndefined();
  await expect(answerInSlot(limit, requestOf("two"), openAnswer().answer)).rejects.toMatchObject(refused);
  giveBack?.();
  giveBack?.();
  expect([limit.slots.takeAny(), limit.slots.takeAny()]).toEqual([expect.any(Function), undefined]);
});
