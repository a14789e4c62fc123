/** What `node --cpu-prof` writes, as far as it is needed. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  /** In microseconds, by the clock of `process.hrtime`, which is the same for all processes. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A stretch of time by the same clock, in microseconds. */
export interface Window {
  readonly from: number;
  readonly until: number;
}

/** Where time went: microseconds by room. */
export interface RoomTimes {
  /** While code of the room itself ran. */
  readonly self: Map<string, number>;
  /** While anything ran that a room of ours had called, down to the next room of ours. */
  readonly charged: Map<string, number>;
}

const idle = "idle";
const elsewhere = "called by no room of ours";

/** The room of a source file: of our packages `host/<room>` or `turnpike/<room>`, else the package, `node` or V8's own. */
export function roomOf({ functionName, url }: { functionName: string; url: string }): string {
  const [, ours, room] = /\/packages\/(host|turnpike)\/(?:dist|src)\/([^/]+)\//.exec(url) ?? [];
  if (ours !== undefined) return `${ours}/${room}`;
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
  if (name !== undefined) return name;
  if (url.startsWith("node:")) return "node";
  if (functionName === "(idle)") return idle;
  if (functionName === "(garbage collector)") return "garbage collector";
  // Sockets and files, as the event loop reads and writes them.
  if (functionName === "(program)") return "native";
  return url === "" ? "native" : "other";
}

/** Sums the samples of a profile that lie in a window. Idle time is left out. */
export function timeByRoom(profile: CpuProfile, { from, until }: Window): RoomTimes {
  const rooms = new Map(profile.nodes.map(({ id, callFrame }) => [id, roomOf(callFrame)]));
  const owners = ownersOf(profile, rooms);
  const times: RoomTimes = { self: new Map(), charged: new Map() };
  let at = profile.startTime;
  for (const [place, id] of profile.samples.entries()) {
    // The first of a pair of samples is what ran until the second was taken.
    at += profile.timeDeltas[place] ?? 0;
    const next = profile.timeDeltas[place + 1] ?? 0;
    const room = rooms.get(id) ?? "other";
    if (at < from || at >= until || room === idle) continue;
    add(times.self, room, next);
    add(times.charged, owners.get(id) ?? elsewhere, next);
  }
  return times;
}

/** For each node the nearest room of ours on the way up from it; the garbage collector belongs to none. */
function ownersOf({ nodes }: CpuProfile, rooms: ReadonlyMap<number, string>): Map<number, string> {
  const owners = new Map<number, string>();
  // Parents come before their children.
  for (const { id, children = [] } of nodes) {
    const room = rooms.get(id) ?? "";
    const isOwn = /^(host|turnpike)\/|^garbage collector$/.test(room);
    const owner = isOwn ? room : owners.get(id);
    if (owner === undefined) continue;
    for (const one of [id, ...children]) owners.set(one, owner);
  }
  return owners;
}

/** Adds up the profiles of several threads. */
export function sumTimes(all: readonly RoomTimes[]): RoomTimes {
  const sum: RoomTimes = { self: new Map(), charged: new Map() };
  for (const times of all) {
    for (const [room, micros] of times.self) add(sum.self, room, micros);
    for (const [room, micros] of times.charged) add(sum.charged, room, micros);
  }
  return sum;
}

/**
 * Splits the time of the database's driver: a profile goes by the clock, so whatever it has beyond the processor time of
 * the process was spent waiting, and what waits in JavaScript's threads is the driver, for the disk.
 */
export function splitWaiting(
  self: ReadonlyMap<string, number>,
  driver: string,
  cpuMicros: number,
): Map<string, number> {
  const total = [...self.values()].reduce((sum, micros) => sum + micros, 0);
  const inDriver = self.get(driver) ?? 0;
  const waiting = Math.min(inDriver, Math.max(0, total - cpuMicros));
  if (waiting === 0) return new Map(self);
  return new Map([...self, [driver, inDriver - waiting], ["waiting for the disk", waiting]]);
}

function add(times: Map<string, number>, room: string, micros: number): void {
  times.set(room, (times.get(room) ?? 0) + micros);
}
