import type { OperatedTurn } from "turnpike-host/management";
import { addressOf } from "../../base/place.ts";
import { principalText } from "../../base/words.ts";

/** The address of one turn. Ids belong to the actor who chose them. */
export function turnAddress({ actor, state: { executionId } }: Pick<OperatedTurn, "actor" | "state">): string {
  return addressOf(["turns", executionId], { of: principalText(actor) });
}
