import { useState } from "preact/hooks";
import type { CredentialRecord } from "turnpike-host/admin-contract";
import { AdminClientError } from "turnpike-host/admin-contract/call";
import { request } from "../../shared/api.ts";
import { principalText } from "../../shared/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { CheckField } from "../../parts/check-field.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { isAdminOfAll, revocationText } from "./credential-text.ts";
import { OwnTokenField } from "./own-token-field.tsx";
import { TokenOnce, tokenWarning } from "./token-once.tsx";

/** A change of a credential that the operator is about to make. */
export interface Change<Which = CredentialRecord> {
  credential: Which;
  isOwn: boolean;
  onClose(): void;
  onChanged(): void;
}

/** As much of a credential as the operator has to know to tell it from others. */
export interface NamedCredential {
  id: string;
  access: Pick<CredentialRecord["access"], "actor">;
}

/** Gives a credential another token, and shows it this once. */
export function RotateCredential({ credential, isOwn, onClose, onChanged }: Change<NamedCredential>) {
  const [made, setMade] = useState<{ id: string; token: string }>();
  const [ownToken, setOwnToken] = useState("");
  const rotate = async (): Promise<void> => {
    setMade(await request("rotateCredential", { id: credential.id, currentToken: ownToken.trim() }));
    onChanged();
  };
  return (
    <Dialog title={made ? "The new token" : "Another token"} warning={made && tokenWarning} onClose={onClose}>
      {made ? (
        <TokenOnce {...made} onDone={onClose} />
      ) : (
        <Form label="Another token">
          <Which credential={credential} />
          <p>The present token ends at once. Access, grants and id stay as they are.</p>
          {isOwn && <p>You are signed in with it, and may have to sign in again.</p>}
          <OwnTokenField value={ownToken} onChange={setOwnToken} />
          <div class="actions">
            <ActionButton kind="main" isSubmit isDisabled={ownToken.trim() === ""} act={rotate}>
              Rotate and show the new token
            </ActionButton>
          </div>
        </Form>
      )}
    </Dialog>
  );
}

/** Revokes a credential, with what goes with it. For the last admin of all tenants that has to be chosen again. */
export function useRevoke(credential: CredentialRecord) {
  const [isAsked, setAsked] = useState(false);
  const [isForced, setForced] = useState(false);
  return {
    async revoke(also: { andAnswers?: boolean; andEverything?: boolean }) {
      try {
        return await request("revokeCredential", { id: credential.id, ...also, ...(isForced && { force: true }) });
      } catch (error) {
        const isConflict = error instanceof AdminClientError && error.code === "conflict";
        if (isConflict && isAdminOfAll(credential)) setAsked(true);
        throw error;
      }
    },
    /** Whether the host refused it, and the operator has not insisted yet. */
    isBlocked: isAsked && !isForced,
    lastAdmin: { isAsked, isForced, onChange: setForced },
  };
}

/** Asks whether the operator insists, once the host refused to revoke the last admin of all tenants. */
export function LastAdminField({
  isAsked,
  isForced,
  onChange,
}: {
  isAsked: boolean;
  isForced: boolean;
  onChange(isForced: boolean): void;
}) {
  if (!isAsked) return null;
  return (
    <CheckField
      label="Revoke it even so"
      isOn={isForced}
      onChange={onChange}
      hint="Afterwards no one can manage all tenants."
    />
  );
}

/** Revokes a credential. The last admin of all tenants stays, unless the operator insists. */
export function RevokeCredential({ credential, isOwn, onClose, onChanged }: Change) {
  const { revoke, isBlocked, lastAdmin } = useRevoke(credential);
  const [isWithAnswers, setWithAnswers] = useState(true);
  const isOperator = credential.access.admin === true;
  const revokeIt = async (): Promise<void> => {
    await revoke({ andAnswers: isOperator && isWithAnswers });
    onChanged();
    onClose();
  };
  return (
    <Dialog title="Revoke" onClose={onClose}>
      <div class="form">
        <Which credential={credential} />
        {revocationText(credential, isOwn).map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        {isOperator && (
          <CheckField
            label="Take back what they approved with it, too"
            isOn={isWithAnswers}
            onChange={setWithAnswers}
            hint="Acts that have not happened, grants issued by approvals, and those that wait for a second person."
          />
        )}
        <LastAdminField {...lastAdmin} />
        <div class="actions">
          <ActionButton kind="danger" isDisabled={isBlocked} act={revokeIt}>
            Revoke it
          </ActionButton>
          <button type="button" class="button" onClick={onClose}>
            Keep it
          </button>
        </div>
      </div>
    </Dialog>
  );
}

export function Which({ credential: { id, access } }: { credential: NamedCredential }) {
  return (
    <p>
      <b>
        <ForeignText text={principalText(access.actor)} />
      </b>{" "}
      <code>{id}</code>
    </p>
  );
}
