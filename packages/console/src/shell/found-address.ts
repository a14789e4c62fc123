import type { Found } from "turnpike-host/admin-contract";
import { addressOf } from "../shared/place.ts";
import { principalText } from "../shared/words.ts";

type Way = (found: Found) => string;

const ways: Readonly<Record<Found["kind"], Way>> = {
  principal: ({ id }) => addressOf(["grants", "reach"], { actor: id }),
  grant: ({ id }) => addressOf(["grants", id]),
  turn: ({ id, actor }) => addressOf(["turns", id], { of: actor && principalText(actor) }),
  escalation: ({ id }) => addressOf(["questions", id]),
  credential: ({ id }) => addressOf(["access", id]),
  tool: ({ id }) => addressOf(["trail"], { tool: id }),
  resource: ({ id }) => addressOf(["grants", "who"], { resource: id }),
  trace: ({ id }) => addressOf(["trail", "trace", id]),
};

/** Where something that was found is shown. */
export function foundAddress(found: Found): string {
  return ways[found.kind](found);
}
