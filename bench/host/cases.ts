import { alice, assistant, notePath, purpose } from "../support/world.ts";

/** A kind of request to measure. Plain data: it is sent to the process that makes the load. */
export interface LoadCase {
  readonly name: string;
  readonly path: string;
  /** The body; `idMark` marks where every request has an id of its own, `traceMark` for the trace of its connection. */
  readonly body: string;
  /** Every answer has to hold this, besides status 200. */
  readonly expected: string;
  /** What its client accepts; anything unless given. */
  readonly accept?: string;
  /** What is sent behind each answer under the same id; both together count as one request. */
  readonly next?: Omit<LoadCase, "name" | "next">;
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

/** An act that needs what the tool call needs: its beginning, and its outcome. */
export function actCase(now: string): LoadCase {
  const needs = [{ action: "read", resource: { namespace: "files", path: notePath } }];
  const act = { version: 1, id: idMark, tool: "own.read", needs, requestedAt: now, traceId: traceMark };
  const outcome = {
    version: 1,
    traceId: traceMark,
    status: "succeeded",
    output: { content: "- milk\n- bread\n", version: 1 },
  };
  return {
    name: "act, begin and outcome",
    path: "/v1/acts",
    body: JSON.stringify(act),
    expected: '"status":"allowed"',
    next: { path: `/v1/acts/${idMark}/outcome`, body: JSON.stringify(outcome), expected: '"status":"succeeded"' },
  };
}

/** The tool call as a client of MCP sends it. With notes on the request, which say nothing, the library of MCP answers it. */
export function mcpCase(hasNotes: boolean): LoadCase {
  const params = { name: "files_read", arguments: { path: notePath.join("/") }, ...(hasNotes && { _meta: {} }) };
  return {
    name: "tools/call",
    path: "/mcp",
    body: JSON.stringify({ jsonrpc: "2.0", id: idMark, method: "tools/call", params }),
    expected: '"structuredContent"',
    accept: "application/json, text/event-stream",
  };
}

/** A function that makes the whole text of one request after another, for one connection. */
export function requestMaker(
  { path, body, accept }: Pick<LoadCase, "path" | "body" | "accept">,
  port: number,
  token: string,
  traceId: string,
) {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    ...(accept === undefined ? [] : [`accept: ${accept}`]),
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
