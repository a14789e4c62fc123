import { signal } from "@preact/signals";

/** Where in the page somebody is: `/console/{tenant}/{screen}/{...rest}?{query}`. Every address can be shared. */
export interface Place {
  tenant: string | undefined;
  screen: string;
  rest: readonly string[];
  query: URLSearchParams;
  /** Whether the address cannot be read: somebody mistyped it. */
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

/** The address of a place in a tenant, the one somebody is in unless another is named. */
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

/** Goes to an address of the page; `replace` leaves no step behind to go back to, such as for a filter. */
export function go(to: string, how: "push" | "replace" = "push"): void {
  if (how === "push") globalThis.history.pushState(undefined, "", to);
  else globalThis.history.replaceState(undefined, "", to);
  place.value = placeIn(to);
  if (how === "push") globalThis.scrollTo(0, 0);
}

/** Changes the filters in the address. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { screen, rest, query } = place.value;
  go(addressOf([screen, ...rest], { ...Object.fromEntries(query), ...changes }), "replace");
}

globalThis.addEventListener("popstate", () => {
  place.value = placeNow();
});
