import type { FollowMessage, LeaderMessage, TabMessage, WithdrawnTool } from "./messages.ts";
import { holdStream, type Stream, type StreamPorts } from "./stream.ts";
import { earlierCursor, isBehind } from "./log-cursor.ts";

/** What a leader says, without its name. */
type Said = LeaderMessage extends infer One ? (One extends unknown ? Omit<One, "leader"> : never) : never;

/** A browser has six connections to a host that speaks HTTP/1.1. The streams leave some of them for everything else. */
const maxStreams = 3;
/** A tab that has not said for this long what it follows is gone. A hidden one has a timer once a minute. */
const forgottenMs = 180_000;

interface Followed {
  /** Tells this stream from those of the tenant before it. */
  name: string;
  /** Where it began. Undefined for one that begins now, until it says where that is. */
  from: string | undefined;
  stream: Stream;
  waiting: number | undefined;
  withdrawn: readonly WithdrawnTool[];
}

interface FollowingTab {
  tenant: string;
  isShown: boolean;
  /** When it was seen after it was not: while more are seen than there are streams, those that they are for do not change. */
  shownAt: number;
  heardAt: number;
}

/** The tab that has the streams for all tabs of the browser. */
export interface Leader {
  readonly id: string;
  take(message: TabMessage): void;
  close(): void;
}

/** Leads: holds one stream for each tenant that tabs follow, and tells them what comes. */
export function startLeading(
  ports: StreamPorts & { makeId(): string },
  tell: (message: LeaderMessage) => void,
): Leader {
  const id = ports.makeId();
  const tabs = new Map<string, FollowingTab>();
  const streams = new Map<string, Followed>();
  const say = (message: Said): void => tell({ leader: id, ...message } as LeaderMessage);

  const open = (tenant: string, from: string | undefined, isAnew = false): void => {
    streams.get(tenant)?.stream.close();
    const name = ports.makeId();
    const stream = holdStream(tenant, from, ports, {
      onOpen() {
        // A stream tells of those that there are when it begins.
        followed.withdrawn = [];
        say({ kind: "open", tenant, stream: name, from: followed.from, isAnew });
      },
      onHeard: () => say({ kind: "heard", tenant, stream: name }),
      onEvent(event) {
        if (event.kind === "waiting") followed.waiting = event.count;
        if (event.kind === "withdrawn") followed.withdrawn = event.tools;
        followed.from ??= stream.cursor;
        say({ kind: "event", tenant, stream: name, event, cursor: stream.cursor });
      },
      onClosed: () => say({ kind: "closed", tenant }),
      onAhead: () => open(tenant, undefined, true),
    });
    const before = streams.get(tenant);
    const known = { waiting: before?.waiting, withdrawn: before?.withdrawn ?? [] };
    const followed: Followed = { name, from, stream, ...known };
    streams.set(tenant, followed);
  };

  /** The tenants to follow: those that are seen before those that were. */
  const wanted = (): string[] => {
    const now = Date.now();
    for (const [tab, { heardAt }] of tabs) if (now - heardAt > forgottenMs) tabs.delete(tab);
    const inOrder = [...tabs.values()].toSorted(
      (one, other) => Number(other.isShown) - Number(one.isShown) || other.shownAt - one.shownAt,
    );
    return [...new Set(inOrder.map(({ tenant }) => tenant))].slice(0, maxStreams);
  };
  const closeUnwanted = (): void => {
    const stillWanted = wanted();
    for (const [tenant, { stream }] of streams) {
      if (stillWanted.includes(tenant)) continue;
      stream.close();
      streams.delete(tenant);
      say({ kind: "closed", tenant });
    }
  };

  const follow = ({ tab, tenant, cursor, leader, isShown }: FollowMessage): void => {
    const before = tabs.get(tab);
    const heardAt = Date.now();
    const shownAt = before === undefined || (isShown && !before.isShown) ? heardAt : before.shownAt;
    tabs.set(tab, { tenant, isShown, shownAt, heardAt });
    closeUnwanted();
    if (wanted().includes(tenant)) {
      const current = streams.get(tenant);
      if (current === undefined) open(tenant, cursor);
      else if (cursor !== undefined) {
        // A tab that listens already hears the stream from its beginning, a later one from now on. Rows that a tab would miss are
        // told again, and tabs that have heard them pass them over.
        const place = leader === id ? current.from : current.stream.cursor;
        if (place === undefined || isBehind(cursor, place))
          open(tenant, current.stream.cursor === undefined ? cursor : earlierCursor(cursor, current.stream.cursor));
      }
    }
    const current = streams.get(tenant);
    say({
      kind: "joined",
      tab,
      tenant,
      stream: current?.name,
      cursor: current?.stream.cursor,
      heardAt: current?.stream.heardAt,
      waiting: current?.waiting,
      withdrawn: current?.withdrawn ?? [],
    });
  };

  return {
    id,
    take(message) {
      if (message.kind === "follow") return follow(message);
      tabs.delete(message.tab);
      closeUnwanted();
    },
    close() {
      for (const { stream } of streams.values()) stream.close();
      streams.clear();
    },
  };
}
