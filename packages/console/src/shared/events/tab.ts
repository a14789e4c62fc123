import type { LiveEvent } from "turnpike-host/admin-contract";
import { startLeading, type Leader } from "./leader.ts";
import type { LeaderMessage, Message, TabMessage, WithdrawnTool } from "./messages.ts";
import type { StreamPorts } from "./stream.ts";
import { cursorBehind, isBehind, isHeard } from "./log-cursor.ts";

/** How the tabs of a session talk to each other. No tab hears its own messages. */
interface Channel {
  post(message: Message): void;
  close(): void;
}

/** What makes one of several tabs the leader. */
export interface Election {
  /** Calls `lead` once the leader before is gone. What it returns is called when another tab has taken the lead. */
  wait(lead: () => () => void): () => void;
  /** The same at once, whichever tab leads. */
  take(lead: () => () => void): () => void;
}

export interface TabPorts extends StreamPorts {
  /** Undefined where a browser has no way for tabs to talk, or to choose one: then each leads itself. */
  shared: { openChannel(hear: (message: Message) => void): Channel; election: Election } | undefined;
  isShown(): boolean;
  makeId(): string;
  /** How often a tab that is seen says what it follows. */
  everyMs: number;
  /** A leader that does not answer for this long is frozen. */
  answerMs: number;
}

/** What a tab hears of the tenant that it follows. */
export interface TabListener {
  /** Called when a stream is open, also when it replaces another one. Changes that have no cursor may have been missed before. */
  onOpen(): void;
  /** Called with the time of everything that the host sends, also when it sends no event. */
  onHeard(at: number): void;
  onWaiting(count: number): void;
  onWithdrawn(tools: readonly WithdrawnTool[]): void;
  onEvent(event: LiveEvent): void;
  onClosed(): void;
}

export interface Tab {
  /** The cursor after the last row that this tab got. */
  readonly cursor: string | undefined;
  /** Call it when the page becomes visible or hidden. */
  showOrHide(): void;
  close(): void;
}

/** Follows a tenant through the stream of whichever tab leads, which may be this one. */
export function followTenant(tenant: string, from: string | undefined, ports: TabPorts, listener: TabListener): Tab {
  const tab = ports.makeId();
  let cursor = from;
  /** The leading tab and its stream. Events of any other tab or stream are ignored, because some between them could be missing. */
  let attached: { leader: string; stream: string | undefined } | undefined;
  let leading: Leader | undefined;
  let isOver = false;
  let unanswered: ReturnType<typeof setTimeout> | undefined;

  const attach = (leader: string, stream: string | undefined): boolean => {
    const isNew = stream !== undefined && attached?.stream !== stream;
    attached = { leader, stream };
    return isNew;
  };

  const hear = (message: LeaderMessage): void => {
    if (message.kind === "lead") {
      attached = { leader: message.leader, stream: undefined };
      return follow();
    }
    if (message.tenant !== tenant) return;
    if (message.kind === "joined") {
      if (message.tab !== tab) return;
      clearTimeout(unanswered);
      unanswered = undefined;
      cursor ??= message.cursor;
      const isNew = attach(message.leader, message.stream);
      if (message.waiting !== undefined) listener.onWaiting(message.waiting);
      listener.onWithdrawn(message.withdrawn);
      // One that is being opened is told of when it is open, or when that fails.
      if (message.stream === undefined) return listener.onClosed();
      if (message.heardAt === undefined) return;
      listener.onHeard(message.heardAt);
      return isNew ? listener.onOpen() : undefined;
    }
    if (message.leader !== attached?.leader) return;
    if (message.kind === "closed") return listener.onClosed();
    if (message.kind === "open") {
      if (message.stream !== attached.stream) {
        if (message.isAnew) cursor = undefined;
        // It begins behind rows that this tab has not heard: the leader is asked for one that begins earlier.
        const isLate = cursor !== undefined && (message.from === undefined || isBehind(cursor, message.from));
        if (isLate) return follow();
      }
      attach(message.leader, message.stream);
      listener.onHeard(Date.now());
      listener.onWithdrawn([]);
      return listener.onOpen();
    }
    if (message.stream !== attached.stream) return;
    listener.onHeard(Date.now());
    if (message.kind === "event") takeEvent(message.event, message.cursor);
  };
  const takeEvent = (event: LiveEvent, behind: string | undefined): void => {
    if (event.kind === "trail" && cursor !== undefined) {
      if (isHeard(cursor, event.strand, event.sequence)) return;
      cursor = cursorBehind(cursor, event.strand, event.sequence);
    } else cursor ??= behind;
    if (event.kind === "waiting") listener.onWaiting(event.count);
    if (event.kind === "withdrawn") listener.onWithdrawn(event.tools);
    listener.onEvent(event);
  };

  const say = (message: TabMessage): void => {
    if (leading === undefined) channel?.post(message);
    else leading.take(message);
  };
  function follow(): void {
    if (isOver) return;
    say({ kind: "follow", tab, tenant, cursor, leader: attached?.leader, isShown: ports.isShown() });
    if (leading === undefined && ports.isShown()) unanswered ??= setTimeout(takeLead, ports.answerMs);
  }
  const lead = (): (() => void) => {
    clearTimeout(unanswered);
    unanswered = undefined;
    const mine = startLeading(ports, (message) => {
      channel?.post(message);
      hear(message);
    });
    leading = mine;
    channel?.post({ kind: "lead", leader: mine.id });
    follow();
    return () => {
      mine.close();
      if (leading === mine) leading = undefined;
      if (!isOver) leave = ports.shared?.election.wait(lead) ?? leave;
      // The tab that took the lead has said so; should that be lost, this asks for an answer.
      follow();
    };
  };
  const takeLead = (): void => {
    unanswered = undefined;
    if (isOver || !ports.isShown()) return;
    leave();
    leave = ports.shared?.election.take(lead) ?? leave;
  };

  const channel = ports.shared?.openChannel((message) => {
    if (isOver) return;
    if (message.kind === "follow" || message.kind === "leave") leading?.take(message);
    else hear(message);
  });
  let leave = (): void => {};
  if (ports.shared === undefined) leave = lead();
  else {
    follow();
    leave = ports.shared.election.wait(lead);
  }
  const timer = setInterval(follow, ports.everyMs);

  return {
    get cursor() {
      return cursor;
    },
    showOrHide: follow,
    close() {
      if (isOver) return;
      if (leading === undefined) say({ kind: "leave", tab });
      isOver = true;
      clearInterval(timer);
      clearTimeout(unanswered);
      leave();
      leading?.close();
      leading = undefined;
      channel?.close();
    },
  };
}
