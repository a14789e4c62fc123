// What a request says about the form of its answer.

/**
 * Whether the header `accept` asks for a stream; a range with `q=0` says no.
 *
 * @example
 * import { wantsStream } from "turnpike/http";
 *
 * console.log(wantsStream("text/event-stream"), wantsStream("application/json")); // true false
 */
export function wantsStream(accepted: string | null): boolean {
  return (accepted ?? "").split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === "text/event-stream" && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** For how long a request is held at most. */
const maxWaitSeconds = 60;

/**
 * For how many seconds the header `prefer` lets the answer wait, as in RFC 7240: `wait=30`. The first `wait` counts; 0 when there is
 * none, or when it is malformed.
 */
export function preferredWait(prefer: string | null): number {
  if (prefer === null) return 0;
  // A value may be quoted, and one that is may hold commas.
  const unquoted = prefer.replaceAll(/"([^"]*)"/g, (quoted, text: string) => (/^\d+$/.test(text) ? ` ${text} ` : '""'));
  const wait = unquoted.split(",").find((one) => /^\s*wait\s*(?:[;=]|$)/i.test(one)) ?? "";
  const [, seconds = "0"] = /^\s*wait\s*=\s*(\d+)\s*(?:;|$)/i.exec(wait) ?? [];
  return Math.min(Number(seconds), maxWaitSeconds);
}

/** Whether the header `prefer` names `respond-async`, among others, in whatever case. */
export function prefersAsync(prefer: string | null): boolean {
  if (prefer === null) return false;
  // A quoted value may hold commas.
  const preferences = prefer.replaceAll(/"[^"]*"/g, "").split(",");
  return preferences.some((one) => /^\s*respond-async\s*(?:[;=]|$)/i.test(one));
}
