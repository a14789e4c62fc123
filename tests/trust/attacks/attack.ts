import type { World } from "./world.ts";

/** Where an attack comes in. */
type Surface = "HTTP" | "MCP" | "console" | "CLI";

/** What a caller saw of the host. */
export interface Seen {
  /** In short: the status and the code. */
  readonly says: string;
  /** Everything that came back. */
  readonly text: string;
}

/** The tables that hold what can be done and what was done, besides the audit log. */
export const tables = [
  "grants",
  "uses",
  "namespace_settings",
  "credentials",
  "people",
  "connections",
  "connection_tokens",
  "oauth_clients",
  "escalations",
  "turns",
  "replay",
  "files",
  "snapshots",
  "messages",
  "sessions",
  "one_time_codes",
  "mcp_pins",
  "deleted_tenants",
] as const;

/** One attack, and beside it the same thing done by a caller who may, or without what is wrong with it. */
export interface Attack<Made = unknown> {
  /** Who does what, as a sentence. */
  readonly name: string;
  readonly surface: Surface;
  /** Makes what both need. */
  prepare?(world: World): Promise<Made>;
  attack(world: World, made: Made): Promise<Seen>;
  /** What the attacker sees. */
  readonly held: string;
  /** Tables in which a refusal leaves something that is no effect of the attack, such as the escalation that it opens. */
  readonly leaves?: readonly (typeof tables)[number][];
  /** How many payments it makes all the same: of those who race, one wins. */
  readonly payments?: number;
  control(world: World, made: Made): Promise<Seen>;
  /** What is seen when it is done rightly. */
  readonly succeeds: string;
}

/** A row of a table, with the type of what it prepares inferred. */
export function attack<Made = undefined>(row: Attack<Made>): Attack {
  return row;
}

/** Attacks of one kind, on one host. */
export interface Group {
  readonly name: string;
  open(): Promise<World>;
  readonly attacks: readonly Attack[];
}

/** What several people saw at once, in short: each answer with how often it came. */
export function together(all: readonly Seen[]): Seen {
  const counts = new Map<string, number>();
  for (const { says } of all) counts.set(says, (counts.get(says) ?? 0) + 1);
  const says = [...counts]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([answer, count]) => `${count} x ${answer}`)
    .join(", ");
  return { says, text: all.map(({ text }) => text).join("\n") };
}
