import { beatPatience, type HostConnection } from "../../../packages/host/src/storage/host-connection.ts";
import type { Beats } from "./beats.ts";
import type { Link } from "./link.ts";
import { noProcess, type Scheduler } from "./scheduler.ts";

/** So long a server takes a connection for one that is there, when nothing comes from its other end. */
const keepAliveMs = 11_000;

/** What the connection of a host goes between. */
interface Ends {
  scheduler: Scheduler;
  beats: Beats;
  link: Link;
  hostId: number;
  /** The lowest epoch whose hosts may serve. */
  lowest(): number;
}

/** Opens the connection on which a host shows that it lives, as `openHostLocks` does on PostgreSQL. */
export async function connectHost({ scheduler, beats, link, hostId, lowest }: Ends): Promise<HostConnection> {
  const ask = <T>(work: () => T): Promise<T> => link.ask("beat", work, beatPatience.query_timeout);
  const session = await ask(() => beats.connect());
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  session.onEnd = () => link.deliver(end);
  let isOpen = true;
  let isLocked = false;
  const askOpen = <T>(work: () => T): Promise<T> =>
    ask(() => {
      if (!isOpen || !beats.isConnected(session)) throw new Error("The connection is gone.");
      return work();
    });
  const destroy = (): void => {
    isOpen = false;
    end();
    // The server learns of it, or finds it out.
    if (link.isCut) scheduler.setTimer(() => beats.disconnect(session), keepAliveMs, noProcess);
    else scheduler.add("disconnect", () => beats.disconnect(session), noProcess);
  };
  return {
    async beat(isDrained) {
      const beaten = await askOpen(() => beats.beat(hostId, isDrained));
      return beaten && { ...beaten, lowest: lowest(), isLocked };
    },
    rejoin: () => askOpen(() => beats.register(hostId)),
    lock: () => askOpen(() => (isLocked = beats.lock(session, hostId))),
    strand: () => session.strand,
    ended,
    end: () => Promise.resolve(destroy()),
    destroy,
  };
}
