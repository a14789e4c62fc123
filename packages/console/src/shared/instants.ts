const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** An instant as the operator's clock and calendar show it; of today, the clock alone. */
export function instantText(at: string, now: Date = new Date()): string {
  const instant = new Date(at);
  const isToday = instant.toDateString() === now.toDateString();
  return isToday ? clock.format(instant) : `${day.format(instant)}, ${clock.format(instant)}`;
}

/** How long ago something was. */
export function agoText(at: string, now: number): string {
  const ms = now - Date.parse(at);
  return ms < 2000 ? "just now" : `${spanText(ms)} ago`;
}

/** How long something takes or took, such as `340 ms`, `12 s`, `5 min`, `3 h`, `2 d`. */
export function spanText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

/** An instant as a field for date and time shows it, by the operator's clock; empty for none. */
export function fieldInstant(at = ""): string {
  const instant = new Date(at);
  if (Number.isNaN(instant.getTime())) return "";
  return new Date(instant.getTime() - instant.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The instant of a text, as the API takes it. */
export function instantOf(text: string): string | undefined {
  const instant = new Date(text);
  return Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The instant that a span from now such as `30m` or `7d`, or a time, means. */
export function endOf(text: string, now: number): string | undefined {
  const [, number, unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text.trim()) ?? [];
  if (number !== undefined) return new Date(now + Number(number) * (unitMs[unit] ?? 0)).toISOString();
  return /^\d{4}-\d\d-\d\dT/.test(text.trim()) ? instantOf(text.trim()) : undefined;
}
