import type { LiveEvent } from "turnpike-host/admin-contract";

/** A tool of an MCP server that changed, and that is withdrawn until an operator accepts it. */
export type WithdrawnTool = Extract<LiveEvent, { kind: "withdrawn" }>["tools"][number];

/** A tab says what it follows: when that changes, when another tab begins to lead, and again and again while it is seen. */
export interface FollowMessage {
  kind: "follow";
  tab: string;
  tenant: string;
  /** Behind the last row that it heard of. */
  cursor: string | undefined;
  /** The leader of whom it has heard everything since that cursor. */
  leader: string | undefined;
  isShown: boolean;
}

/** What tabs say to the one that leads. */
export type TabMessage = FollowMessage | { kind: "leave"; tab: string };

/** What the tab that leads says to all of them, and what it answers to one. */
export type LeaderMessage = { leader: string } & (
  | { kind: "lead" }
  | {
      kind: "joined";
      tab: string;
      tenant: string;
      stream: string | undefined;
      cursor: string | undefined;
      /** When the host was last heard of. Undefined while the stream is not open. */
      heardAt: number | undefined;
      waiting: number | undefined;
      withdrawn: readonly WithdrawnTool[];
    }
  | {
      kind: "open";
      tenant: string;
      stream: string;
      /** Where it began; undefined for one that begins now. */
      from: string | undefined;
      /** Whether there are no rows as far as was heard, such as after a restore: what was heard does not count. */
      isAnew: boolean;
    }
  | { kind: "heard"; tenant: string; stream: string }
  | { kind: "closed"; tenant: string }
  | { kind: "event"; tenant: string; stream: string; event: LiveEvent; cursor: string | undefined }
);

export type Message = TabMessage | LeaderMessage;
