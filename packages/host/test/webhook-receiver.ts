import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** A message as a receiver gets it. */
interface Received {
  id: string;
  timestamp: number;
  body: string;
  message: { type: string; timestamp: string; data: Record<string, unknown> };
  isSigned: boolean;
}

/** How a receiver answers: a status, or nothing at all. */
type Reply = number | "hang" | ((response: ServerResponse) => void);

/** A receiver of webhooks on this machine. */
export interface Receiver {
  url: string;
  received: Received[];
  /** How it answers each message from now on; `place` counts from 0. */
  reply(how: (received: Received, place: number) => Reply): void;
  /** The largest number of messages that were being answered at once. */
  mostAtOnce(): number;
  /** Stops listening, and breaks what is open. */
  stop(): Promise<void>;
  /** Listens at the same address again. */
  start(): Promise<void>;
}

/**
 * Written from the text of Standard Webhooks: HMAC-SHA256 of id, seconds and body, joined by full stops, in base64; the
 * header may list several signatures, each behind its version.
 */
function isSignedBy(secret: Buffer, headers: IncomingMessage["headers"], body: string): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": list } = headers;
  const expected = createHmac("sha256", secret)
    .update(`${String(id)}.${String(timestamp)}.${body}`)
    .digest();
  return String(list)
    .split(" ")
    .some((entry) => {
      const [version, signature = ""] = entry.split(",");
      const given = Buffer.from(signature, "base64");
      return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
    });
}

/** Starts a receiver that answers 204 and checks signatures with a secret. It stops with the test. */
export async function openReceiver(secret: Buffer): Promise<Receiver> {
  const received: Received[] = [];
  let how: (received: Received, place: number) => Reply = () => 204;
  let [atOnce, most] = [0, 0];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    response.once("close", () => (atOnce -= 1));
    const body = await text(request);
    const { "webhook-id": id, "webhook-timestamp": timestamp } = request.headers;
    const one: Received = {
      id: String(id),
      timestamp: Number(timestamp),
      body,
      message: JSON.parse(body) as Received["message"],
      isSigned: request.method === "POST" && isSignedBy(secret, request.headers, body),
    };
    const reply = how(one, received.push(one) - 1);
    if (typeof reply === "number") response.writeHead(reply).end();
    else if (reply !== "hang") reply(response);
  };
  const server = createServer((request, response) => void answer(request, response));
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    reply: (next) => void (how = next),
    mostAtOnce: () => most,
    stop,
    start: () => listen(port),
  };
}
