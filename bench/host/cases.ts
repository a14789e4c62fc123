import { alice, assistant, notePath, purpose } from "../support/world.ts";

/** A kind of request to measure. Plain data: it is sent to the process that makes the load. */
export interface LoadCase {
  readonly name: string;
  readonly path: string;
  /** The body; `idMark` marks where every request has an id of its own, `traceMark` for the trace of its connection. */
  readonly body: string;
  /** Every answer has to hold this, besides status 200. */
  readonly expected: string;
}

/** As long as the ids that are put in their place, so that every body of a case has the same length. */
export const idMark = "@id@@@@@@@@@@@@@";
export const traceMark = "@trace@@@@@@@@@@";

/** The requests of a client: an id of its own for every effect, one trace for what belongs together. */
export function loadCases(now: string): LoadCase[] {
  const message = {
    version: 1,
    id: idMark,
    createdAt: now,
    traceId: traceMark,
    purpose,
    sender: alice,
    receiver: assistant,
    payload: { read: notePath.join("/") },
  };
  const call = { id: idMark, tool: "files.read", arguments: { path: notePath.join("/") } };
  const rows = [
    {
      name: "authorize",
      path: "/v1/authorize",
      body: { action: "read", resource: { namespace: "files", path: notePath } },
      expected: '"allowed":true',
    },
    {
      name: "tools/invoke",
      path: "/v1/tools/invoke",
      body: { ...call, requestedAt: now, traceId: traceMark },
      expected: '"status":"succeeded"',
    },
    {
      name: "turn, one call",
      path: "/v1/turns",
      body: { version: 1, executionId: idMark, agent: assistant, message },
      expected: '"status":"succeeded"',
    },
  ];
  return rows.map((row) => ({ ...row, body: JSON.stringify(row.body) }));
}

/** A function that makes the whole text of one request after another, for one connection. */
export function requestMaker({ path, body }: LoadCase, port: number, token: string, traceId: string) {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    `x-trace-id: ${traceId}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ].join("\r\n");
  const parts = `${head}\r\n\r\n${body.replaceAll(traceMark, traceId)}`.split(idMark);
  return (id: string): string => parts.join(id);
}

/** A function that makes ids which no one else makes: a random beginning, and a number behind it. */
export function idMaker(length: number): () => string {
  const begin = crypto.randomUUID().slice(0, 8);
  let count = 0;
  return () => {
    count += 1;
    return `${begin}${count.toString(36).padStart(length - begin.length, "0")}`;
  };
}
