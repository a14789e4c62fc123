// What a server can do at all that keeps as much as the host does, as durably, and decides nothing: the bare server, with a
// thread that has the database, a chain of hashes, and commits that all requests in flight share.
import { hash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";

/** What shares a commit. */
export interface Batch {
  readonly rows: (string | number)[][];
  readonly entries: (string | number)[][];
}

/** How many entries the host keeps with each event of such a request; it waits for each pair. */
const commits: Record<string, readonly number[]> = {
  "/v1/authorize": [0],
  "/v1/tools/invoke": [1, 1],
  "/v1/turns": [1, 2, 3, 4, 3, 4],
};
const content = JSON.stringify({ text: "x".repeat(400) });
const entry = JSON.stringify({ text: "x".repeat(200) });

const [, , path = ""] = process.argv;
const thread = new Worker(new URL("keeping-thread.js", import.meta.url), { workerData: path });
let gathered: Batch = { rows: [], entries: [] };
let waiting: (() => void)[] = [];
let isWriting = false;
let head = { sequence: 0, hash: "" };

function keep(entries: number): Promise<void> {
  return new Promise((resolve) => {
    const sequence = head.sequence + 1;
    head = { sequence, hash: hash("sha256", `${head.hash}\n${sequence}\n${content}`) };
    const id = randomUUID();
    const at = new Date().toISOString();
    gathered.rows.push(["tenant", sequence, id, at, "agent:assistant", id, content, head.hash]);
    for (let place = 0; place < entries; place += 1) gathered.entries.push([id, place, entry]);
    waiting.push(resolve);
    if (!isWriting) setImmediate(write);
    isWriting = true;
  });
}

function write(): void {
  const told = waiting;
  thread.once("message", () => {
    isWriting = waiting.length > 0;
    if (isWriting) setImmediate(write);
    for (const tell of told) tell();
  });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  thread.postMessage(gathered);
  gathered = { rows: [], entries: [] };
  waiting = [];
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", async () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as object;
    for (const entries of commits[request.url ?? ""] ?? []) await keep(entries);
    const answer = JSON.stringify({ status: "succeeded", allowed: true, keys: Object.keys(body).length });
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
    response.end(answer);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));
