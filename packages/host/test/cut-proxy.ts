import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { Transform } from "node:stream";
import { onTestFinished } from "vitest";

/** A way to a PostgreSQL that can be cut and mended. */
export interface CutProxy {
  /** The database, by way of the proxy. */
  readonly location: string;
  /** Breaks every connection, and each new one at once. */
  cut(): void;
  mend(): void;
  /** Leads every connection that is opened from now on to another database. */
  leadTo(location: string): void;
  /** Holds every connection open and lets nothing through, as a server does that hangs; `thaw` lets all of it through. */
  freeze(): void;
  thaw(): void;
  /** How many connections were tried so far. */
  attempts(): number;
  /** Whether any connection is open. */
  isUsed(): boolean;
}

/** Puts a proxy before a PostgreSQL, for the time of a test. What the server says can be changed on its way. */
export async function openCutProxy(
  location: string,
  change: (said: Buffer) => Buffer = (said) => said,
): Promise<CutProxy> {
  let target = new URL(location);
  const sockets = new Set<Socket>();
  let [isCut, isFrozen] = [false, false];
  let attempts = 0;
  const server = createServer((near) => {
    attempts += 1;
    if (isCut) return void near.destroy();
    const far = connect({ host: target.hostname, port: Number(target.port) });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (socket === near) socket.pipe(other);
      else socket.pipe(changing(change)).pipe(other);
      if (isFrozen) socket.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    breakAll();
    server.close();
  });
  const through = new URL(location);
  through.port = String((server.address() as AddressInfo).port);
  through.hostname = "127.0.0.1";
  return {
    location: through.href,
    cut() {
      isCut = true;
      breakAll();
    },
    mend: () => void (isCut = false),
    leadTo: (other) => void (target = new URL(other)),
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    attempts: () => attempts,
    isUsed: () => sockets.size > 0,
  };
}

function changing(change: (said: Buffer) => Buffer): Transform {
  return new Transform({ transform: (said: Buffer, _encoding, done) => done(null, change(said)) });
}
