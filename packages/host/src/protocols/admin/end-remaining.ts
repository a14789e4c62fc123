import { type ClosedEscalation, operatorsTenant, type CredentialRecord } from "../../admin-contract/index.ts";
import type { Operator } from "../../access/index.ts";
import type { AdminServices } from "./admin-services.ts";
import { recordClosed } from "./escalation-operations.ts";
import { changeOf as changeOfGrant } from "./grant-operations.ts";
import { cancellationOf } from "./turn-operations.ts";

/** How many grants are revoked in one transaction, and how many turns are cancelled after one read. */
const atOnce = 500;

/** A session as the audit log names it when another operator ends it. */
export function changeOfSession({ access: { actor } }: CredentialRecord, session: string) {
  return { namespaceId: operatorsTenant, action: "session.end", receiver: actor, metadata: { session } };
}

/**
 * Revokes the grants that were made with a credential, and returns how many. The credential was revoked before, so no grant is
 * added. A repeated call continues where this one ended.
 */
export async function endGrants(
  { stores: { grants }, clock, wakeTurns }: AdminServices,
  { id }: CredentialRecord,
  operator: Operator,
): Promise<number> {
  const at = clock().toISOString();
  let revoked = 0;
  let page = await grants.listMade(id, at, { limit: atOnce });
  for (;;) {
    const { grants: made, next: after } = page;
    const changes = made.map((grant) => changeOfGrant("grant.revoke", grant));
    let closed: readonly ClosedEscalation[] = [];
    const revoke = () =>
      grants.revokeAll(made, clock().toISOString(), (_transaction, asked) => {
        closed = asked;
        return Promise.resolve();
      });
    if (made.length > 0) revoked += (await operator.changeAll(changes, revoke)).length;
    await recordClosed(operator, closed, wakeTurns);
    if (after === undefined) return revoked;
    page = await grants.listMade(id, at, { after, limit: atOnce });
  }
}

/** Cancels the turns that a credential started or tries, and returns how many. */
export async function endTurns(
  { stores: { turns }, wakeTurns }: AdminServices,
  credential: CredentialRecord,
  operator: Operator,
): Promise<number> {
  let cancelled = 0;
  let page = await turns.listOpenOf(credential, { limit: atOnce });
  for (;;) {
    const { turns: open, next: after } = page;
    const cancel = async (): Promise<void> => {
      for (const { namespaceId, actor, state } of open)
        await turns.cancel({ namespaceId, actor, executionId: state.executionId });
    };
    if (open.length > 0) await operator.changeAll(open.map(cancellationOf), cancel);
    cancelled += open.length;
    if (after === undefined) break;
    page = await turns.listOpenOf(credential, { after, limit: atOnce });
  }
  // A turn that waited, or whose host is gone, is ended by the next host that takes it.
  if (cancelled > 0) wakeTurns();
  return cancelled;
}
