import { useState } from "preact/hooks";
import type { EscalationRecord } from "turnpike-host/admin-contract";
import { useAct } from "../../shared/act.ts";
import { may, request } from "../../shared/api.ts";
import { session } from "../../shared/session.ts";
import { principalText } from "../../shared/words.ts";
import { Form, TextField } from "../../parts/fields.tsx";
import { Problem } from "../../parts/states.tsx";

/** Withdraws an approval. An operator may not do so for their own request. */
export function WithdrawPanel({ escalation, onWithdrawn }: { escalation: EscalationRecord; onWithdrawn(): void }) {
  const { namespaceId, id, ask, requester, grantId } = escalation;
  const { isBusy, problem, run } = useAct();
  const [reason, setReason] = useState("");
  const me = session.current.value?.operator;
  if (!may("withdrawEscalation") || (me !== undefined && principalText(me.actor) === principalText(requester)))
    return null;
  const withdraw = (): Promise<void> =>
    run(async () => {
      const why = reason.trim();
      await request("withdrawEscalation", { namespaceId, id, ask, ...(why !== "" && { reason: why }) });
      onWithdrawn();
    });
  return (
    <section class="panel answer" aria-labelledby="withdraw-title">
      <h3 id="withdraw-title">Take it back</h3>
      <p class="hint">
        {grantId === undefined
          ? "The approval ends, unless the act has happened."
          : "The grant is revoked, with everything derived from it."}
      </p>
      <Form label="Take it back" onSend={() => void withdraw()}>
        <div class="deny">
          <TextField label="Why (optional)" value={reason} onChange={setReason} />
          <button type="submit" class="button danger" disabled={isBusy} aria-busy={isBusy}>
            Withdraw the approval
          </button>
        </div>
      </Form>
      {problem !== undefined && <Problem text={problem} />}
    </section>
  );
}
