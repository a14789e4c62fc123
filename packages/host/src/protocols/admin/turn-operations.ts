import type { AdminInput, OperatedTurn } from "../../admin-contract/index.ts";
import { invalid, notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Reading and cancelling the turns of any tenant. */
export function turnOperations({
  stores: { turns },
  wakeTurns,
}: AdminServices): AdminOperations<"listAllTurns" | "inspectTurn" | "cancelAnyTurn"> {
  const find = async ({ namespaceId, executionId, actor }: AdminInput<"inspectTurn">) => {
    const found = await turns.findBy(namespaceId, executionId, actor);
    if (found === undefined) throw notFound("turn of this id in this tenant");
    return found;
  };
  return {
    async listAllTurns({ status: statuses, ...filter }) {
      if (filter.actor !== undefined && filter.namespaceId === undefined)
        throw invalid("/actor: expected together with namespaceId, because actors belong to a tenant.");
      return turns.listAll({ ...filter, statuses });
    },
    async inspectTurn(name) {
      const turn = await find(name);
      return { ...turn, events: [...turn.events] };
    },
    async cancelAnyTurn(name, operator) {
      const { events: _events, ...turn } = await find(name);
      const { namespaceId, actor, state } = turn;
      if (state.completedAt !== undefined) return turn;
      return operator.change(cancellationOf(turn), async () => {
        const cancelled = await turns.cancel({ namespaceId, actor, executionId: state.executionId });
        if (cancelled === undefined) throw notFound("turn of this id in this tenant");
        // A turn that waited, or whose host is gone, is ended by the next host that takes it.
        wakeTurns();
        return { ...turn, state: cancelled };
      });
    },
  };
}

/** What the audit log says of a turn that an operator cancels. */
export function cancellationOf({ namespaceId, actor, state }: OperatedTurn) {
  return { namespaceId, action: "turn.cancel", receiver: actor, metadata: { turn: state.executionId } };
}
