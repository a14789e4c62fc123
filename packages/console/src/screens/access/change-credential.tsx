import { useState } from "preact/hooks";
import type { CredentialRecord } from "turnpike-host/management";
import { AdminClientError } from "turnpike-host/management/call";
import { request } from "../../base/api.ts";
import { principalText } from "../../base/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { CheckField } from "../../parts/check-field.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { isAdminOfAll, revocationText } from "./credential-text.ts";
import { OwnTokenField } from "./own-token-field.tsx";
import { TokenOnce, tokenWarning } from "./token-once.tsx";

interface Change<Which = CredentialRecord> {
  credential: Which;
  isOwn: boolean;
  onClose(): void;
  onChanged(): void;
}

/** As much of a credential as somebody has to know to tell it from others. */
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

/** Revokes a credential. The last admin of all tenants stays, unless somebody insists. */
export function RevokeCredential({ credential, isOwn, onClose, onChanged }: Change) {
  const [isLastAdmin, setLastAdmin] = useState(false);
  const [isForced, setForced] = useState(false);
  const [isWithAnswers, setWithAnswers] = useState(true);
  const isOperator = credential.access.admin === true;
  const revoke = async (): Promise<void> => {
    try {
      const andAnswers = isOperator && isWithAnswers;
      await request("revokeCredential", { id: credential.id, andAnswers, ...(isForced && { force: true }) });
    } catch (error) {
      const isConflict = error instanceof AdminClientError && error.code === "conflict";
      if (isConflict && isAdminOfAll(credential)) setLastAdmin(true);
      throw error;
    }
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
            hint="Acts that have not happened yet, grants that their approvals issued, and approvals that wait for a second person."
          />
        )}
        {isLastAdmin && (
          <CheckField
            label="Revoke it even so"
            isOn={isForced}
            onChange={setForced}
            hint="Nobody can manage all tenants then."
          />
        )}
        <div class="actions">
          <ActionButton kind="danger" isDisabled={isLastAdmin && !isForced} act={revoke}>
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

function Which({ credential: { id, access } }: { credential: NamedCredential }) {
  return (
    <p>
      <b>
        <ForeignText text={principalText(access.actor)} />
      </b>{" "}
      <code>{id}</code>
    </p>
  );
}
