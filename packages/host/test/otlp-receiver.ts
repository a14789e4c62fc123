import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A span as it arrived, with its attributes by name. */
export interface ReceivedSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  isFailed: boolean;
  attributes: Record<string, unknown>;
}

/** A collector for the time of a test. */
export interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  /** Everything that was sent, headers too. */
  texts: string[];
  requests: { path: string; headers: IncomingMessage["headers"] }[];
  resource: Record<string, unknown>;
}

type Value = Record<string, unknown> & { arrayValue?: { values: Value[] } };
interface SentSpan extends Omit<ReceivedSpan, "attributes" | "isFailed"> {
  attributes: { key: string; value: Value }[];
  status?: { code?: number };
}
interface Sent {
  resourceSpans: { resource: { attributes: SentSpan["attributes"] }; scopeSpans: { spans: SentSpan[] }[] }[];
}

/** Starts one that takes what it is sent, or answers as it is told; `undefined` never answers. */
export async function openOtlpReceiver(answer: () => number | undefined = () => 200): Promise<OtlpReceiver> {
  const receiver: OtlpReceiver = { url: "", spans: [], texts: [], requests: [], resource: {} };
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    receiver.requests.push({ path: incoming.url ?? "", headers: incoming.headers });
    receiver.texts.push(text);
    const status = answer();
    if (status === undefined) return;
    if (status === 200) take(receiver, JSON.parse(text) as Sent);
    outgoing.writeHead(status, { "content-type": "application/json" });
    outgoing.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}

function take(receiver: OtlpReceiver, { resourceSpans }: Sent): void {
  for (const { resource, scopeSpans } of resourceSpans) {
    receiver.resource = named(resource.attributes);
    for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
      receiver.spans.push({ ...span, attributes: named(span.attributes), isFailed: span.status?.code === 2 });
    }
  }
}

function named(attributes: SentSpan["attributes"]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: Value): unknown {
  return value.arrayValue === undefined ? Object.values(value)[0] : value.arrayValue.values.map(plain);
}
