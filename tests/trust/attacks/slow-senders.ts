import { open } from "../../../packages/host/test/raw-http.ts";
import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { raw } from "./surfaces.ts";
import { openWorld, type World } from "./world.ts";

/** Sends the beginning of a request and nothing more, and waits for what the host says until it closes. */
function begin({ url, tokens }: World, text: string): Promise<Seen> {
  return new Promise((resolve) => {
    let said = "";
    const socket = open(url);
    socket.setEncoding("latin1").on("data", (part: string) => (said += part));
    socket.on("error", () => {});
    socket.on("close", () => resolve({ says: /HTTP\/1\.1 (\d+)/.exec(said)?.[1] ?? "closed", text: said }));
    socket.write(text.replace("AUTH", `Authorization: Bearer ${tokens.assistant}\r\n`));
  });
}

const ask = '{"action":"read","resource":{"namespace":"files","path":["notes"]}}';

/** All of them are begun at once, so that no one waits for one after the other. */
const begun = new Map<string, Promise<Seen>>();
const beginnings: string[] = [];

/** The beginning of a request, beside the whole of it. */
function beginning(name: string, text: string, rest: string): Attack {
  beginnings.push(text);
  return attack({
    name,
    surface: "HTTP",
    attack: (world) => begun.get(text) ?? begin(world, text),
    held: "408",
    control: (world) => raw(world, `${text}${rest}`),
    succeeds: "200",
  });
}

const rows: readonly Attack[] = [
  beginning(
    "A sender begins its headers and never ends them",
    "GET /health HTTP/1.1\r\nHost: a\r\n",
    "Connection: close\r\n\r\n",
  ),
  beginning(
    "A sender declares a body and never sends all of it",
    `POST /v1/authorize HTTP/1.1\r\nHost: a\r\nAUTHConnection: close\r\nContent-Length: ${ask.length}\r\n\r\n{`,
    ask.slice(1),
  ),
];

export const slowSenders: Group = {
  name: "slow senders",
  async open() {
    // Long enough for every request that is sent at once, on a busy machine too.
    const world = await openWorld({ flags: { "limits.headersMs": "3000", "limits.bodyMs": "3000" } });
    for (const text of beginnings) begun.set(text, begin(world, text));
    return world;
  },
  attacks: rows,
};
