import type { ActOutcome, ActState, PrincipalRef } from "../contracts/index.ts";
import { parseInstant } from "../internal/index.ts";
import type { ActEnd, ActKey, StoredAct } from "./act-store.ts";

/** The key of an act. A trace and an execution of the same name are two scopes. */
export function actKey(
  { namespaceId, actor }: { namespaceId: string; actor: PrincipalRef },
  { id, executionId, traceId }: Pick<ActOutcome, "executionId" | "traceId"> & { id: string },
): ActKey {
  const scope = executionId === undefined ? `trace ${traceId ?? ""}` : `execution ${executionId}`;
  return { namespaceId, actor, scope, id };
}

/** Whether the lease of an act has ended. An end that cannot be read is over. */
export function isOver({ expiresAt }: Pick<StoredAct, "expiresAt">, now: string): boolean {
  return !((parseInstant(expiresAt) ?? Number.NaN) > (parseInstant(now) ?? Number.NaN));
}

/** Whether its key is free again. That nothing happened is not stored when it was said too late. */
export function isGivenBack({ end }: StoredAct): boolean {
  return end !== undefined && end !== "lost" && end.error?.nothingHappened === true;
}

/** Where an act is at an instant. */
export function stateOf(id: string, { expiresAt, taken, end, ...act }: StoredAct, now: string): ActState {
  if (end === "lost") return { status: "interrupted", id, expiresAt };
  if (end !== undefined) return endedState(id, end);
  if (isOver({ ...act, expiresAt }, now)) return { status: "interrupted", id, expiresAt };
  return { status: "allowed", id, expiresAt, grants: [...taken.grants] };
}

export function endedState(id: string, { status, output, error, completedAt, isLate }: ActEnd): ActState {
  const late = isLate ? ({ late: true } as const) : {};
  if (status === "succeeded") return { status, id, completedAt, ...late, ...(output !== undefined && { output }) };
  return { status, id, completedAt, ...late, ...(error !== undefined && { error }) };
}
