import { ask, eventually } from "../../../packages/host/test/host-calls.ts";
import { open } from "../../../packages/host/test/raw-http.ts";
import { linesIn, makeDurableTenant, startDurableHost, stepsTurn } from "../../support/durable-host.ts";
import { makeFolder, type HostProcess } from "../../support/host-process.ts";
import type { Finding, Suite } from "../suite.ts";
import { handlesOf, memoryOf } from "./process-use.ts";

/** As many sockets as a host takes unless it is told otherwise, but for those that ask and answer. */
const most = 9_900;
/** Their connections are held open for a minute, in case they ask again. */
const answerers = 10;

/** Thousands of turns at once that wait for a person, each followed over a socket of its own. */
export const streams: Suite = {
  name: "streams",
  says: "Thousands of turns wait at once, each followed on a socket of its own; all are answered, each ends once on its stream, and everything is given back.",
  share: 2,
  async run({ seed, isOver }) {
    const counts = { "streamed turns": 0, "MiB at most": 0 };
    const findings: Finding[] = [];
    while (!isOver()) {
      const { memory, problems } = await followMany(most);
      counts["streamed turns"] += most;
      counts["MiB at most"] = Math.max(counts["MiB at most"], Math.round(memory));
      for (const what of problems) findings.push({ what, repeat: `npm run trust -- --only streams --seed ${seed}` });
    }
    return { counts, findings };
  },
};

/** So many turns, from their start to their end. Returns what did not go as it should. */
export async function followMany(count: number): Promise<{ memory: number; problems: string[] }> {
  const folder = makeFolder();
  const host = await startDurableHost(folder, { "limits.openEscalations": "10000", "limits.concurrentTurns": "400" });
  const { token } = await makeDurableTenant(host);
  const atRest = handlesOf(host.pid);
  const ids = Array.from({ length: count }, (_, place) => `turn-${place}`);
  const followed: Followed[] = [];
  await atOnce(50, ids, async (id) => {
    const one = follow(host, token, id);
    followed.push(one);
    await one.waits;
  });
  const memory = memoryOf(host.pid);
  const answered = await answerAll(host);
  const texts = await Promise.all(followed.map(({ ended }) => ended));
  const problems = texts.flatMap((text, place) => {
    const ends = text.split("event: turn.result").length - 1;
    return ends === 1 ? [] : [`${followed[place]?.id} ended ${ends} times: ${text.slice(0, 1000)}`];
  });
  if (answered !== count) problems.push(`${answered} of ${count} escalations were opened`);
  const effects = linesIn(folder, "effects.log");
  if (effects.length !== count || new Set(effects).size !== count)
    problems.push(`${count} effects were wanted, ${effects.length} were seen, ${new Set(effects).size} different ones`);
  await eventually(() => {
    if (handlesOf(host.pid) > atRest + 3 * answerers) throw new Error("Sockets are still open.");
  }).catch((error: unknown) => problems.push(String(error)));
  await host.stop();
  return { memory, problems };
}

interface Followed {
  readonly id: string;
  /** Resolves when the turn has asked a person. */
  readonly waits: Promise<void>;
  /** Everything that came, when the stream has ended. */
  readonly ended: Promise<string>;
}

/** Starts a turn and follows it, over a socket of its own. */
function follow({ url }: HostProcess, token: string, id: string): Followed {
  const body = JSON.stringify(stepsTurn(id, 1, 0));
  const socket = open(url);
  let text = "";
  const waits = new Promise<void>((resolve, reject) => {
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.includes('"service.escalate"')) resolve();
    });
    socket.once("close", () => reject(new Error(`The stream of ${id} ended early: ${text}`)));
  });
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  socket.on("error", () => {});
  socket.write(
    `POST /v1/turns HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nX-Trace-Id: t\r\n` +
      `Prefer: respond-async\r\nAccept: text/event-stream\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return { id, waits, ended };
}

/** Answers every escalation; returns how many there were. */
async function answerAll(host: HostProcess): Promise<number> {
  const token = host.operatorToken();
  let answered = 0;
  for (;;) {
    const { body } = await ask(host.url, "/admin/v1/escalations?namespaceId=acme&status=pending&limit=200", { token });
    const { escalations } = body as { escalations: { id: string; ask: string }[] };
    if (escalations.length === 0) return answered;
    await atOnce(answerers, escalations, async ({ id, ask: asked }) => {
      const answer = { namespaceId: "acme", id, ask: asked, reason: "No." };
      await ask(host.url, "/admin/v1/escalations/deny", { token, body: answer });
    });
    answered += escalations.length;
  }
}

async function atOnce<T>(count: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const one = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: count }, one));
}
