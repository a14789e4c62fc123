import type { AuthorizationRequest } from "turnpike/contracts";

/** What a coding agent's tool needs a grant for, or why that cannot be said. */
export type Needs = { kind: "needs"; needs: readonly AuthorizationRequest[] } | Undecided;

/** What cannot be decided is denied. `why` completes "It was denied because". */
export interface Undecided {
  kind: "undecided";
  why: string;
}

export function undecided(why: string): Undecided {
  return { kind: "undecided", why };
}

/** The contract allows no more needs of one act. */
export const maxNeeds = 64;

// oxlint-disable-next-line no-control-regex -- they are what is excluded
const step = /^[^/\\\u0000-\u001F\u007F-\u009F]{1,256}$/;

/** Whether the contract takes these as the steps of a resource's path. */
export function isPath(steps: readonly string[]): boolean {
  return steps.length <= 64 && steps.every((each) => step.test(each) && each !== "." && each !== "..");
}
