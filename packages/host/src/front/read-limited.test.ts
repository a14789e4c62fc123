import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { BodyState, readLimited } from "./read-limited.ts";

test("a request that broke off before it was read is an error at once", async () => {
  const incoming = new IncomingMessage(new Socket());
  const closed = new Promise((resolve) => incoming.once("close", resolve));
  incoming.destroy();
  await closed;
  await expect(readLimited(incoming, 10)).rejects.toThrow("The request broke off.");
});

test("a body as long as the limit is read", async () => {
  expect(new TextDecoder().decode(await readLimited(bringing("0123456789"), 10))).toBe("0123456789");
});

for (const when of ["before", "while"]) {
  test(`a body that broke off ${when} it is read is refused with the reason`, async () => {
    const state = new BodyState();
    const reason = new Error("broken");
    if (when === "before") state.break(reason);
    const reading = readLimited(new IncomingMessage(new Socket()), 10, state);
    state.break(reason);
    await expect(reading).rejects.toBe(reason);
  });
}

test("a body longer than the limit is refused", async () => {
  const refusal = { status: 413, code: "payload_too_large" };
  await expect(readLimited(bringing("0123456789a"), 10)).rejects.toMatchObject(refusal);
  await expect(readLimited(whole("01234", "56789a"), 10)).rejects.toMatchObject(refusal);
});

test("a body that is there already is read at once, whatever its pieces", async () => {
  for (const pieces of [[], ["0123456789"], ["01234", "56789"]]) {
    const incoming = whole(...pieces);
    const reading = readLimited(incoming, 10);
    expect(incoming.readableLength).toBe(0);
    expect(new TextDecoder().decode(await reading)).toBe(pieces.join(""));
  }
});

test("a body that is there already, of a request that was broken off, is refused with the reason", async () => {
  const [state, reason] = [new BodyState(), new Error("broken")];
  state.break(reason);
  await expect(readLimited(whole("0123456789"), 10, state)).rejects.toBe(reason);
});

/** What a parser that has read the last byte leaves. */
function whole(...pieces: string[]): IncomingMessage {
  const incoming = new IncomingMessage(new Socket());
  for (const piece of pieces) incoming.push(piece);
  incoming.push(null);
  incoming.complete = true;
  return incoming;
}

function bringing(body: string): IncomingMessage {
  const incoming = new IncomingMessage(new Socket());
  incoming.push(body);
  incoming.push(null);
  return incoming;
}
