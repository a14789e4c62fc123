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

/** Whether the header `prefer` names `respond-async`, among others, in whatever case. */
export function prefersAsync(prefer: string | null): boolean {
  if (prefer === null) return false;
  // A quoted value may hold commas.
  const preferences = prefer.replaceAll(/"[^"]*"/g, "").split(",");
  return preferences.some((one) => /^\s*respond-async\s*(?:[;=]|$)/i.test(one));
}
