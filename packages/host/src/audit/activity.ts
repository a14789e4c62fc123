import { sql, type RawBuilder } from "kysely";
import { columnText } from "../shared/index.ts";
import type { Database } from "../storage/index.ts";

/** What happened in a tenant in the last hour. */
export interface Activity {
  /** The oldest first. */
  minutes: { at: string; allowed: number; denied: number; failed: number }[];
  /** Why things were denied or failed, the most frequent first. */
  reasons: { reason: string; count: number }[];
  /** Whether there was more than was counted; the newest was. */
  isPartial: boolean;
}

interface Minute {
  allowed: number;
  denied: number;
  failed: number;
  reasons: Map<string, number>;
}

/** The counts so far. They reach to `until`, and the minutes from `from` on are complete. */
interface Known {
  from: number;
  until: number;
  minutes: Map<number, Minute>;
}

const minuteMs = 60_000;
const hourMinutes = 60;
/** How many rows one reading counts. */
const maxCounted = 50_000;
/**
 * How long a minute is counted anew. The outcome of an act has the time at which the act began: what ends later than
 * this is missing from the counts, but never from the audit log.
 */
const settledMs = 5 * minuteMs;
const maxTenants = 100;
const [maxReasons, storedReasons] = [10, 100];

/** Counts by minutes. Those that are settled are counted once and cached, because consoles ask every few seconds. */
export function createActivity(
  database: Pick<Database, "kind" | "reporting">,
  most = maxCounted,
): (namespaceId: string, now: Date) => Promise<Activity> {
  const cache = new Map<string, Known>();
  return async (namespaceId, now) => {
    const last = Math.floor(now.getTime() / minuteMs) * minuteMs;
    const first = last - (hourMinutes - 1) * minuteMs;
    const before = cache.get(namespaceId);
    const known = before && before.until > first && before.until <= last ? before : undefined;
    const times = { from: known?.until ?? first, until: last + minuteMs };
    const fresh = await countMinutes(database, namespaceId, times, most);
    const from = fresh.from ?? known?.from ?? first;
    const minutes = new Map([...(known?.minutes ?? []), ...fresh.minutes].filter(([at]) => at >= first));
    const until = last - settledMs;
    cache.delete(namespaceId);
    cache.set(namespaceId, { from, until, minutes: new Map([...minutes].filter(([at]) => at < until)) });
    for (const oldest of [...cache.keys()].slice(0, -maxTenants)) cache.delete(oldest);
    return {
      minutes: Array.from({ length: hourMinutes }, (_, place) => {
        const at = first + place * minuteMs;
        const { allowed = 0, denied = 0, failed = 0 } = minutes.get(at) ?? {};
        return { at: new Date(at).toISOString(), allowed, denied, failed };
      }),
      reasons: topReasons(minutes.values()),
      isPartial: from > first,
    };
  };
}

interface Counted {
  minute: string;
  isDecision: number | boolean;
  outcome: string;
  reason: string | null;
  count: number | string;
}

/** Counts the newest rows of a time. When some rows were not counted, `from` is the first minute that was counted whole. */
async function countMinutes(
  { kind, reporting }: Pick<Database, "kind" | "reporting">,
  namespaceId: string,
  times: { from: number; until: number },
  most: number,
): Promise<{ minutes: Map<number, Minute>; from?: number }> {
  const [from, until] = [times.from, times.until].map((time) => new Date(time).toISOString());
  const rows = reporting
    .selectFrom("audit")
    .where("namespace_id", "=", columnText(namespaceId))
    .where("at", "<", until as string);
  const beyond = await rows
    .select(["at", "strand", "sequence"])
    .where("at", ">=", from as string)
    .orderBy("at", "desc")
    .orderBy("strand", "desc")
    .orderBy("sequence", "desc")
    .limit(1)
    .offset(most)
    .executeTakeFirst();
  const { at, strand, sequence } = beyond ?? { at: from, strand: -1, sequence: 0 };
  const counted = await rows
    .select([
      sql<string>`substr(at, 1, 16)`.as("minute"),
      sql<number | boolean>`type = 'authorization.checked'`.as("isDecision"),
      "outcome",
      reasonIn(kind).as("reason"),
      ({ fn }) => fn.countAll().as("count"),
    ])
    .where(sql<boolean>`(at, strand, sequence) > (${at}, cast(${strand} as integer), cast(${sequence} as bigint))`)
    // What operators change is no act of a principal.
    .where(sql<boolean>`outcome in ('allowed', 'denied', 'failed') and type <> 'operator.changed'`)
    .groupBy(sql`1, 2, 3, 4`)
    .execute();
  const minutes = gather(counted as Counted[]);
  return beyond === undefined ? { minutes } : { minutes, from: instantOf(beyond.at.slice(0, 16)) + minuteMs };
}

/**
 * SQL: the reason of a row that did not allow. PostgreSQL reads no JSON in which a caller has written a NUL; keys are sorted
 * there, and none behind this one has another of its name.
 */
function reasonIn(kind: Database["kind"]): RawBuilder<string | null> {
  const reason =
    kind === "postgres"
      ? sql`substring(content from '.*"reason":"([^"\\\\]*)"')`
      : sql`json_extract(content, '$.reason')`;
  return sql`case when outcome = 'allowed' then null else ${reason} end`;
}

/** The audit log has a denied act twice, as a decision and as its outcome: it counts once. */
function gather(rows: readonly Counted[]): Map<number, Minute> {
  const minutes = new Map<number, Minute>();
  const denials = new Map<string, { minute: Minute; reason: string | null; decisions: number; others: number }>();
  for (const { minute: text, isDecision, outcome, reason, count } of rows) {
    const at = instantOf(text);
    const minute = minutes.get(at) ?? { allowed: 0, denied: 0, failed: 0, reasons: new Map<string, number>() };
    minutes.set(at, minute);
    const number = Number(count);
    if (outcome === "allowed") minute.allowed += number;
    else if (outcome === "failed") {
      minute.failed += number;
      add(minute.reasons, reason, number);
    } else {
      const key = JSON.stringify([at, reason]);
      const denial = denials.get(key) ?? { minute, reason, decisions: 0, others: 0 };
      denials.set(key, denial);
      if (isDecision) denial.decisions += number;
      else denial.others += number;
    }
  }
  for (const { minute, reason, decisions, others } of denials.values()) {
    const number = Math.max(decisions, others);
    minute.denied += number;
    add(minute.reasons, reason, number);
  }
  for (const minute of minutes.values()) minute.reasons = new Map(mostFrequent(minute.reasons, storedReasons));
  return minutes;
}

function topReasons(minutes: Iterable<Minute>): Activity["reasons"] {
  const all = new Map<string, number>();
  for (const { reasons } of minutes) for (const [reason, count] of reasons) add(all, reason, count);
  return mostFrequent(all, maxReasons).map(([reason, count]) => ({ reason, count }));
}

function add(reasons: Map<string, number>, reason: string | null, count: number): void {
  if (reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
}

function mostFrequent(reasons: ReadonlyMap<string, number>, most: number): [string, number][] {
  return [...reasons].toSorted(([one, many], [other, more]) => more - many || (one < other ? -1 : 1)).slice(0, most);
}

/** The start of a minute that is written as `2026-01-01T12:00`. */
function instantOf(minute: string): number {
  return Date.parse(`${minute}:00.000Z`);
}
