import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { limitAnswers } from "./answer-limit.ts";

const answer = (id: string | number): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: {} });
const request: JSONRPCMessage = { jsonrpc: "2.0", id: 1, method: "tools/call" };

/** A transport over which nothing arrives before `arrive`. */
function slowTransport() {
  const sent: JSONRPCMessage[] = [];
  const waiting: (() => void)[] = [];
  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send(message) {
      sent.push(message);
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
  limitAnswers(transport);
  return { transport, sent, arrive: () => waiting.splice(0).forEach((resolve) => resolve()) };
}

test("a server that takes no answers gets no more than 16, and requests of the host all the same", async () => {
  const { transport, sent, arrive } = slowTransport();
  const answers = Array.from({ length: 1000 }, (_, id) => transport.send(answer(id)));
  expect(sent).toHaveLength(16);
  void transport.send(request);
  expect(sent.at(-1)).toEqual(request);
  arrive();
  await Promise.all(answers);
  void transport.send(answer("next"));
  expect(sent.at(-1)).toEqual(answer("next"));
});

test("a request whose id is longer than 256 characters is not answered", () => {
  const { transport, sent } = slowTransport();
  void transport.send(answer("i".repeat(257)));
  void transport.send(answer("i".repeat(256)));
  expect(sent).toEqual([answer("i".repeat(256))]);
});
