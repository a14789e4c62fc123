const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** A moment as the operator's clock and calendar show it; of today, the clock alone. */
export function momentText(at: string, now: Date = new Date()): string {
  const moment = new Date(at);
  const isToday = moment.toDateString() === now.toDateString();
  return isToday ? clock.format(moment) : `${day.format(moment)}, ${clock.format(moment)}`;
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

/** A moment as a field for date and time shows it, by the operator's clock; empty for none. */
export function fieldMoment(at = ""): string {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return "";
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The moment of a text, as the API takes it. */
export function momentOf(text: string): string | undefined {
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The moment that a span from now such as `30m` or `7d`, or a time, means. */
export function endOf(text: string, now: number): string | undefined {
  const [, number, unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text.trim()) ?? [];
  if (number !== undefined) return new Date(now + Number(number) * (unitMs[unit] ?? 0)).toISOString();
  return /^\d{4}-\d\d-\d\dT/.test(text.trim()) ? momentOf(text.trim()) : undefined;
}
