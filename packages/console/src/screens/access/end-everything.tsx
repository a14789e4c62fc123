import { useState } from "preact/hooks";
import type { CredentialRecord } from "turnpike-host/admin-contract";
import { endedText } from "turnpike-host/display";
import { ActionButton } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { type Change, LastAdminField, useRevoke, Which } from "./change-credential.tsx";

/** Revokes a credential, if it is not revoked, and ends all that it left behind. Says what that was. */
export function EndEverything({ credential, isOwn, onClose, onChanged }: Change<CredentialRecord>) {
  const { revoke, isBlocked, lastAdmin } = useRevoke(credential);
  const [ended, setEnded] = useState<string>();
  const isRevoked = credential.revokedAt !== undefined;
  const end = async (): Promise<void> => {
    const done = await revoke({ andEverything: true });
    setEnded((done.ended && endedText(done.ended)) || "nothing");
    onChanged();
  };
  return (
    <Dialog title={isRevoked ? "End what it left behind" : "Revoke it and end what it left behind"} onClose={onClose}>
      <div class="form">
        <Which credential={credential} />
        {ended === undefined ? (
          <>
            {!isRevoked && <p>Its token is refused from the next request on.</p>}
            <p>
              Its sessions and turns end, approvals that wait and permits that were not used are taken back, and grants
              that were made with it are revoked, with all that was derived from them. That cannot be undone.
            </p>
            {isOwn && <p>You are signed in with it: you are signed out at once.</p>}
            <LastAdminField {...lastAdmin} />
            <div class="actions">
              <ActionButton kind="danger" isDisabled={isBlocked} act={end}>
                End all of it
              </ActionButton>
              <button type="button" class="button" onClick={onClose}>
                Keep it
              </button>
            </div>
          </>
        ) : (
          <>
            <p role="status">The credential is revoked. Of what it left behind, this ended: {ended}.</p>
            <div class="actions">
              <button type="button" class="button" onClick={onClose}>
                Close
              </button>
            </div>
          </>
        )}
      </div>
    </Dialog>
  );
}
