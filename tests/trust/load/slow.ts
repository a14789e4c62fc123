import type { Socket } from "node:net";
import { ask, eventually } from "../../../packages/host/test/host-calls.ts";
import { open } from "../../../packages/host/test/raw-http.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../../support/host-process.ts";
import { makeTenant } from "../../support/host-world.ts";
import type { Finding, Suite } from "../suite.ts";
import { handlesOf, memoryOf } from "./process-use.ts";

const many = 1000;
/** So many connections may belong to those who are not slow. */
const spare = 10;

/** Clients that send and read as slowly as they can, among others. */
export const slow: Suite = {
  name: "slow",
  says: "Thousands of clients that send byte by byte, or read nothing, are cut off; meanwhile all others are answered.",
  share: 1,
  async run({ seed, isOver }) {
    const counts = { "slow clients": 0, "other calls": 0, "MiB at most": 0 };
    const findings: Finding[] = [];
    while (!isOver()) {
      const { calls, memory, problems } = await holdSlow(many);
      counts["slow clients"] += many * kinds.length;
      counts["other calls"] += calls;
      counts["MiB at most"] = Math.max(counts["MiB at most"], Math.round(memory));
      for (const what of problems) findings.push({ what, repeat: `npm run trust -- --only slow --seed ${seed}` });
    }
    return { counts, findings };
  },
};

/** How each kind begins, what it sends next, and whether it reads. */
const kinds = [
  { begin: "GET /health HTTP/1.1\r\nHost: a\r\n", more: "x", isReading: true },
  {
    begin: "POST /v1/authorize HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 100000\r\n\r\n[",
    more: " ",
    isReading: true,
  },
  { begin: "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(40), more: "", isReading: false },
];

/** So many of each kind at once, until all are gone. */
export async function holdSlow(count: number): Promise<{ calls: number; memory: number; problems: string[] }> {
  const limits = { headersMs: 2000, bodyMs: 2000, requestsPerSecond: 100_000, burst: 100_000 };
  const set = Object.entries(limits).flatMap(([name, value]) => ["--set", `limits.${name}=${value}`]);
  const host = await startHostProcess({ folder: makeFolder(), args: ["serve", "--port", "0", ...set] });
  const token = await makeTenant(host);
  const atRest = handlesOf(host.pid);
  const sockets = kinds.flatMap((kind) => Array.from({ length: count }, () => begin(host, token, kind)));
  const heldNow = (): number => handlesOf(host.pid) - atRest;
  const resume = setInterval(() => sockets.forEach(({ socket, more }) => socket.write(more)), 500);
  const problems: string[] = [];
  let [calls, memory] = [0, 0];
  try {
    await eventually(() => {
      if (heldNow() <= spare) throw new Error("No slow client is there.");
    });
    // The times are the host's: however slow the machine is, it is asked until the last of them is gone.
    await eventually(async () => {
      const { status } = await ask(host.url, "/v1/reach", { token });
      calls += 1;
      if (status !== 200) problems.push(`Another caller was answered with ${status}.`);
      memory = Math.max(memory, memoryOf(host.pid));
      if (heldNow() > spare) throw new Error(`${heldNow()} connections of slow clients are held.`);
    }, 170_000).catch((error: unknown) => problems.push(String(error)));
  } finally {
    clearInterval(resume);
    for (const { socket } of sockets) socket.destroy();
  }
  const { code } = await host.stop();
  if (code !== 0) problems.push(`The host ended with ${code}.`);
  return { calls, memory, problems };
}

function begin({ url }: HostProcess, token: string, kind: (typeof kinds)[number]): { socket: Socket; more: string } {
  const socket = open(url);
  socket.on("error", () => {});
  if (kind.isReading) socket.resume();
  else socket.pause();
  socket.write(kind.begin.replace("TOKEN", token));
  return { socket, more: kind.more };
}
