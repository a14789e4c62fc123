import { ServiceHttpError } from "turnpike/http";
import type { NewTurn, OpenTurnLimits } from "../../ledger/index.ts";
import type { Database } from "../../storage/index.ts";

/** Counts the open turns of an actor and their bytes, by an index alone. */
const openSql = `select count(*) as turns, coalesce(sum(bytes), 0) as bytes from turns
  where namespace_id = $1 and actor = $2 and completed_at is null`;

/** Seconds after which a caller may try again. A turn that waits for a person may wait for hours. */
const retryAfter = "10";

/** Throws `429` when the actor of a turn that did not begin has no room for it. */
export async function requireRoom(
  { read }: Pick<Database, "read">,
  { namespace_id, actor, bytes, most }: NewTurn,
): Promise<void> {
  const [open] = await read<OpenTurnLimits>(openSql, [namespace_id, actor]);
  const [turns, held] = [Number(open?.turns), Number(open?.bytes)];
  if (turns + 1 > most.turns) throw refusal(`It has ${turns} turns that have not ended, and may have ${most.turns}`);
  if (held + bytes > most.bytes)
    throw refusal(`Its turns that have not ended hold ${held} bytes, and may hold ${most.bytes} with this one`);
}

function refusal(why: string): ServiceHttpError {
  return new ServiceHttpError(
    429,
    "rate_limited",
    `This actor cannot begin another turn now. ${why}: wait until some have ended, or cancel some.`,
    { headers: { "retry-after": retryAfter } },
  );
}
