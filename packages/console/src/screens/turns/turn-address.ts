import type { OperatedTurn } from "turnpike-host/admin-contract";
import { addressOf } from "../../shared/place.ts";
import { principalText } from "../../shared/words.ts";

/** The address of one turn. Ids belong to the actor who chose them. */
export function turnAddress({ actor, state: { executionId } }: Pick<OperatedTurn, "actor" | "state">): string {
  return addressOf(["turns", executionId], { of: principalText(actor) });
}
