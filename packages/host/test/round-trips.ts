import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * Counts round trips to a PostgreSQL over all connections of this process: each time that something is sent while nothing sent
 * before is unanswered.
 */
export interface RoundTrips {
  /** The database, by way of a proxy that counts. */
  readonly location: string;
  /** How many there were so far. */
  count(): number;
}

/**
 * An answer is held for so many turns of the event loop before it is handed on. What this process sends without waiting for it is
 * seen before that, however busy the machine is.
 */
const heldTurns = 10;

/** Puts a counting proxy before a PostgreSQL, for the time of a test. */
export async function countRoundTrips(location: string): Promise<RoundTrips> {
  const target = new URL(location);
  const sockets = new Set<Socket>();
  let [unanswered, trips] = [0, 0];
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) });
    let mine = 0;
    let isBeating = false;
    const ask = (count: number): void => {
      if (isBeating) return;
      if (count > 0 && unanswered === 0) trips += 1;
      mine += count;
      unanswered += count;
    };
    const answer = (count: number): void => {
      if (isBeating) return;
      mine -= count;
      unanswered -= count;
    };
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
        answer(mine);
      });
    }
    // A query of one message, or the end of several: the server answers each of them with `ReadyForQuery`.
    const asked = messageCounter(true, ["Q", "S"]);
    near.on("data", (bytes) => {
      // A host beats on a connection of its own, by the clock and whatever calls do.
      if (!isBeating && bytes.includes("update hosts set beat_at")) {
        answer(mine);
        isBeating = true;
      }
      ask(asked(bytes));
      far.write(bytes);
    });
    const ready = messageCounter(false, ["Z"]);
    let handed = Promise.resolve();
    far.on("data", (bytes) => {
      const answers = ready(bytes);
      const before = handed;
      const hand = async (): Promise<void> => {
        await before;
        for (let turn = 0; turn < heldTurns; turn += 1) await new Promise(setImmediate);
        answer(answers);
        near.write(bytes);
      };
      handed = hand();
    });
    // The login is asked for by a message without a type, and answered like a query.
    ask(1);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const through = new URL(location);
  through.hostname = "127.0.0.1";
  through.port = String((server.address() as AddressInfo).port);
  return { location: through.href, count: () => trips };
}

/** Counts messages of these types in a stream of PostgreSQL's protocol, whose client begins with one that has no type. */
function messageCounter(isClient: boolean, types: readonly string[]): (bytes: Buffer) => number {
  let rest = Buffer.alloc(0);
  let isFirst = isClient;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    let count = 0;
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (rest.length < head + 4) return count;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return count;
      if (!isFirst && types.includes(String.fromCharCode(rest[0] ?? 0))) count += 1;
      isFirst = false;
      rest = rest.subarray(end);
    }
  };
}
