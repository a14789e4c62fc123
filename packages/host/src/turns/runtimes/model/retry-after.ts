/** How long a provider asks to wait, by its headers or, for Google, by the body; undefined when it does not say. */
export function retryAfterMs(
  headers: Record<string, string> = {},
  body?: unknown,
  now: number = Date.now(),
): number | undefined {
  const exact = milliseconds(headers["retry-after-ms"], 1);
  if (exact !== undefined) return exact;
  const said = headers["retry-after"];
  return milliseconds(said, 1_000) ?? untilDate(said, now) ?? milliseconds(delayIn(body), 1_000);
}

function milliseconds(text: string | undefined, unit: number): number | undefined {
  return text !== undefined && /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Math.ceil(Number(text) * unit) : undefined;
}

/** The time until an HTTP date; 0 for one in the past. */
function untilDate(text: string | undefined, now: number): number | undefined {
  const date = text === undefined || !/^[A-Z][a-z]{2}, /.test(text) ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Google says `"retryDelay": "30s"` among the details of an error. */
function delayIn(body: unknown): string | undefined {
  const { error } = (body ?? {}) as { error?: { details?: unknown } | null };
  const details = Array.isArray(error?.details) ? (error.details as ({ retryDelay?: unknown } | null)[]) : [];
  const delay = details.find((detail) => typeof detail?.retryDelay === "string")?.retryDelay as string | undefined;
  return delay?.endsWith("s") === true ? delay.slice(0, -1) : undefined;
}
