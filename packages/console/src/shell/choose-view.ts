import type { AdminRouteName } from "turnpike-host/admin-contract";
import type { Place } from "../shared/place.ts";

/** What of a screen says whether an address is its own, and who may see it. */
export interface ScreenAddress {
  /** Its step in the address. */
  name: string;
  /** The route that the screen needs. Operators who may not use it are not shown the screen. */
  needs: AdminRouteName;
  /** What may follow its name: steps between slashes, with `*` for the name of something. Every other address is of no screen. */
  below: readonly string[];
}

/** What the page shows: a choice of tenant, one of its screens, or why there is none. */
export type ChosenView<Screen> =
  | { kind: "unreadable" }
  | { kind: "tenants" }
  | { kind: "unknown" }
  | { kind: "forbidden" }
  | { kind: "screen"; screen: Screen };

/** Chooses what an address shows to an operator who may use some of the routes. */
export function chooseView<Screen extends ScreenAddress>(
  { tenant, screen: name, rest, isBroken }: Place,
  screens: readonly Screen[],
  may: (route: AdminRouteName) => boolean,
): ChosenView<Screen> {
  if (isBroken) return { kind: "unreadable" };
  if (tenant === undefined) return { kind: "tenants" };
  const screen = screens.find((one) => one.name === name);
  if (screen === undefined || !hasAddress(screen.below, rest)) return { kind: "unknown" };
  return may(screen.needs) ? { kind: "screen", screen } : { kind: "forbidden" };
}

/** Whether a screen has an address. Its own words are never names: `grants/who/derive` is not about a grant with the name `who`. */
function hasAddress(below: readonly string[], rest: readonly string[]): boolean {
  const all = below.map((steps) => steps.split("/").filter((step) => step !== ""));
  const isWord = (step: string, at: number): boolean => all.some((steps) => steps[at] === step);
  return all.some(
    (steps) =>
      steps.length === rest.length &&
      rest.every((step, at) => steps[at] === step || (steps[at] === "*" && !isWord(step, at))),
  );
}
