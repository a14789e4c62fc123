import { signal } from "@preact/signals";

/** Where in the page the operator is: `/console/{tenant}/{screen}/{...rest}?{query}`. Every address can be shared. */
export interface Place {
  tenant: string | undefined;
  screen: string;
  rest: readonly string[];
  query: URLSearchParams;
  /** Whether the address cannot be read: it was mistyped. */
  isBroken: boolean;
}

const root = "/console/";

function placeIn(address: string): Place {
  const { pathname, searchParams: query } = new URL(address, globalThis.location.origin);
  const steps = pathname.slice(root.length).split("/");
  try {
    const [tenant, screen = "now", ...rest] = steps.filter((step) => step !== "").map(decodeURIComponent);
    return { tenant, screen, rest, query, isBroken: false };
  } catch {
    return { tenant: undefined, screen: "", rest: [], query, isBroken: true };
  }
}

function placeNow(): Place {
  return placeIn(globalThis.location.pathname + globalThis.location.search);
}

export const place = signal(placeNow());

/** The address of a place in a tenant, the one the operator is in unless another is named. */
export function addressOf(
  steps: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
  tenant = place.value.tenant ?? "",
): string {
  const path = [tenant, ...steps].map((step) => encodeURIComponent(step)).join("/");
  const known = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(known).toString();
  return `${root}${path}${search === "" ? "" : `?${search}`}`;
}

/** Marks the step of a text that is typed, so that all its letters are one step in the history. */
interface StepState {
  typedIn?: string;
}

/** Called when the operator is about to leave the page. While it is set, the page stays. */
let holder: (() => void) | undefined;

/** Holds the page where it is, and tells when the operator would leave, until the function that is returned is called. */
export function holdPlace(tell: () => void): () => void {
  holder = tell;
  const ask = (event: Event): void => event.preventDefault();
  globalThis.addEventListener("beforeunload", ask);
  return () => {
    holder = undefined;
    globalThis.removeEventListener("beforeunload", ask);
  };
}

function addressNow(): string {
  return globalThis.location.pathname + globalThis.location.search;
}

function change(to: string, how: "push" | "replace", state: StepState = {}): boolean {
  if (holder !== undefined) {
    holder();
    return false;
  }
  // A link to where the operator is leaves no step behind that would go back to the same.
  if (how === "replace" || to === addressNow()) globalThis.history.replaceState(state, "", to);
  else globalThis.history.pushState(state, "", to);
  shownAddress = to;
  place.value = placeIn(to);
  return true;
}

/** Goes to an address of the page; `replace` leaves no step behind to go back to, such as for a place that is only passed. */
export function go(to: string, how: "push" | "replace" = "push"): void {
  if (change(to, how) && how === "push") globalThis.scrollTo(0, 0);
}

/**
 * Changes what is chosen on a screen, such as a filter or the row that is open, as a step that Back goes over. What is typed into
 * one field is one step.
 */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  how: "chosen" | "typed" = "chosen",
): void {
  const { screen, rest, query } = place.value;
  const to = addressOf([screen, ...rest], { ...Object.fromEntries(query), ...changes });
  if (how === "chosen") return void change(to, "push");
  const typedIn = Object.keys(changes).join(" ");
  const state = globalThis.history.state as StepState | null;
  change(to, state?.typedIn === typedIn ? "replace" : "push", { typedIn });
}

let shownAddress = addressNow();

globalThis.addEventListener("popstate", () => {
  if (holder !== undefined) {
    globalThis.history.pushState({}, "", shownAddress);
    return holder();
  }
  shownAddress = addressNow();
  place.value = placeNow();
});
