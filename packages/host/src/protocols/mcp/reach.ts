import type { ReachEntry } from "turnpike/contracts";
import type { Access } from "./access.ts";
import { toProtocolError } from "./public-error.ts";

/** Everywhere the caller may act right now. */
export async function reachOf({ api, context, options }: Access): Promise<readonly ReachEntry[]> {
  const reached = await api.reach(context, options);
  if (reached.status === "computed") return reached.reach;
  throw toProtocolError({ code: reached.reasonCode, message: "What may be read cannot be said right now." }, "failed");
}

/** Whether an action is allowed at a place. */
export function allows({ actions }: ReachEntry, action: string): boolean {
  return actions.includes(action) || actions.includes("*");
}

/** Whether a path of the same namespace lies in a place. */
export function covers({ path, scope }: ReachEntry, other: readonly string[]): boolean {
  if (scope === "exact" && path.length !== other.length) return false;
  return path.length <= other.length && path.every((step, place) => step === other[place]);
}
