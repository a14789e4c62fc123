import { useState } from "preact/hooks";
import { request } from "../../shared/api.ts";
import { visibleText } from "../../shared/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { CheckField } from "../../parts/check-field.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form, SelectField, TextArea, TextField } from "../../parts/fields.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { accessOf, type CredentialDraft, emptyDraft, expiryOf, operatorAccessOf } from "./credential-form.ts";
import { operatorsTenant } from "./credential-text.ts";
import { OwnTokenField } from "./own-token-field.tsx";
import { TokenOnce, tokenWarning } from "./token-once.tsx";

/** Makes a credential of the tenant, or an operator's, and shows its token this once. */
export function MakeCredential({
  tenant,
  kind,
  onClose,
  onChanged,
}: {
  tenant: string;
  kind: "credential" | "operator";
  onClose(): void;
  onChanged(): void;
}) {
  const [draft, setDraft] = useState<CredentialDraft>({ ...emptyDraft, tenant: kind === "operator" ? tenant : "" });
  const [made, setMade] = useState<{ id: string; token: string }>();
  const [ownToken, setOwnToken] = useState("");
  const isOperator = kind === "operator";
  const change = (changes: Partial<CredentialDraft>): void => setDraft((before) => ({ ...before, ...changes }));
  const make = async (): Promise<void> => {
    const access = isOperator ? operatorAccessOf(draft) : accessOf(draft);
    const expiresAt = expiryOf(draft, new Date());
    const where = isOperator
      ? { namespaceId: operatorsTenant, currentToken: ownToken.trim() }
      : { namespaceId: tenant };
    setMade(await request("createCredential", { ...where, access, expiresAt }));
    onChanged();
  };
  const [formTitle, tokenTitle] = isOperator
    ? ["Make an operator", "The operator's token"]
    : ["Make a credential", "The token"];
  return (
    <Dialog title={made ? tokenTitle : formTitle} warning={made && tokenWarning} onClose={onClose}>
      {made ? (
        <TokenOnce {...made} onDone={onClose} />
      ) : (
        <Form label={isOperator ? "Operator" : "Credential"}>
          {isOperator ? (
            <OperatorFields draft={draft} change={change} tenant={tenant} />
          ) : (
            <AccessFields draft={draft} change={change} />
          )}
          <div class="form row">
            <SelectField
              label="Ends"
              value={draft.expires}
              options={ends}
              onChange={(expires) => change({ expires })}
            />
            {draft.expires === "at" && (
              <TextField
                label="Instant"
                type="datetime-local"
                value={draft.expiresAt}
                onChange={(expiresAt) => change({ expiresAt })}
                isRequired
              />
            )}
          </div>
          {isOperator && <OwnTokenField value={ownToken} onChange={setOwnToken} />}
          <div class="actions">
            <ActionButton kind="main" isSubmit isDisabled={isOperator && ownToken.trim() === ""} act={make}>
              Make it and show the token
            </ActionButton>
          </div>
        </Form>
      )}
    </Dialog>
  );
}

interface Part {
  draft: CredentialDraft;
  change(changes: Partial<CredentialDraft>): void;
}

function AccessFields({ draft, change }: Part) {
  return (
    <>
      <PrincipalField
        label="Actor"
        value={draft.actor}
        onChange={(actor) => change({ actor })}
        isRequired
        hint="Who acts with it, such as agent:assistant."
      />
      <div class="form row">
        <PrincipalField
          label="Owner"
          value={draft.owner}
          onChange={(owner) => change({ owner })}
          hint="Whose resources; the actor's unless given."
        />
        <PrincipalField
          label="Authority"
          value={draft.authority}
          onChange={(authority) => change({ authority })}
          hint="Whose grants; the owner's unless given."
        />
      </div>
      <div class="form row">
        <TextArea
          label="Purposes"
          value={draft.purposes}
          onChange={(purposes) => change({ purposes })}
          isRequired
          hint="One on each line; the first is the default."
        />
        <TextArea
          label="Senders"
          value={draft.senders}
          onChange={(senders) => change({ senders })}
          hint="Whose messages may start turns; everyone's unless given."
        />
      </div>
      <CheckField
        label="May ask about others"
        isOn={draft.evaluates}
        onChange={(evaluates) => change({ evaluates })}
        hint="For an enforcement point that asks through AuthZEN."
      />
    </>
  );
}

function OperatorFields({ draft, change, tenant }: Part & { tenant: string }) {
  return (
    <>
      <TextField
        label="Name"
        value={draft.actor}
        onChange={(actor) => change({ actor })}
        isRequired
        hint="Who the audit log will name, such as human:carol."
      />
      <div class="form row">
        <SelectField
          label="Role"
          value={draft.role}
          options={roles}
          onChange={(role) => change({ role: role as CredentialDraft["role"] })}
        />
        <SelectField
          label="Where"
          value={draft.tenant}
          options={[
            { value: tenant, text: `in ${visibleText(tenant)} alone` },
            { value: "", text: "in all tenants" },
          ]}
          onChange={(where) => change({ tenant: where })}
        />
      </div>
    </>
  );
}

const roles = [
  { value: "admin", text: "admin: everything" },
  { value: "reviewer", text: "reviewer: answers questions" },
  { value: "auditor", text: "auditor: reads" },
];

const ends = [
  { value: "1d", text: "after a day" },
  { value: "30d", text: "after 30 days" },
  { value: "90d", text: "after 90 days" },
  { value: "at", text: "at a time" },
  { value: "", text: "never" },
];
