// What a server can do at all that keeps as much as the host does, as durably, and decides nothing: the bare server, with a
// thread that has the database, a chain of hashes, and commits that all requests in flight share. As in the host, requests that
// arrive together continue together.
import { hash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";

/** What shares a commit. */
export interface Batch {
  readonly rows: (string | number)[][];
  readonly entries: (string | number)[][];
}

/** What the host keeps for such a request, and waits for: events, and other rows with them. */
const commits: Record<string, readonly { events: number; others: number }[]> = {
  "/v1/authorize": [{ events: 1, others: 0 }],
  "/v1/tools/invoke": [
    { events: 1, others: 1 },
    { events: 1, others: 1 },
  ],
  "/v1/turns": [
    { events: 1, others: 1 },
    { events: 2, others: 2 },
    { events: 1, others: 3 },
    { events: 2, others: 2 },
  ],
};
const content = JSON.stringify({ text: "x".repeat(400) });
const entry = JSON.stringify({ text: "x".repeat(200) });

const [, , path = ""] = process.argv;
const thread = new Worker(new URL("keeping-thread.js", import.meta.url), { workerData: path });
let gathered: Batch = { rows: [], entries: [] };
let waiting: (() => void)[] = [];
let isWriting = false;
let head = { sequence: 0, hash: "" };

function keep({ events, others }: { events: number; others: number }): Promise<void> {
  return new Promise((resolve) => {
    const id = randomUUID();
    const at = new Date().toISOString();
    for (let place = 0; place < events; place += 1) {
      const sequence = head.sequence + 1;
      head = { sequence, hash: hash("sha256", `${head.hash}\n${sequence}\n${content}`) };
      gathered.rows.push(["tenant", sequence, id, at, "agent:assistant", id, content, head.hash]);
    }
    for (let place = 0; place < others; place += 1) gathered.entries.push([id, place, entry]);
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

let round: Promise<void> | undefined;
function endOfRound(): Promise<void> {
  round ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => (round = undefined));
  return round;
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", async () => {
    await endOfRound();
    const body = JSON.parse(Buffer.concat(chunks).toString()) as object;
    for (const commit of commits[request.url ?? ""] ?? []) await keep(commit);
    const answer = JSON.stringify({ status: "succeeded", allowed: true, keys: Object.keys(body).length });
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
    response.end(answer);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));
