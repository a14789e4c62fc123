import type { CredentialRecord } from "turnpike-host/admin-contract";
import { may } from "../../shared/api.ts";
import { addressOf } from "../../shared/place.ts";
import { session } from "../../shared/session.ts";
import { principalText, visibleText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { StateTag, Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { operatorText, ownerText, purposesText, sendersText, stateOf } from "./credential-text.ts";

/** Credentials with what their bearers may do, without any secret. */
export function CredentialTable({
  kind,
  credentials,
  ownId,
  onRotate,
  onRevoke,
}: {
  kind: "credential" | "operator";
  credentials: readonly CredentialRecord[];
  ownId: string | undefined;
  onRotate(credential: CredentialRecord): void;
  onRevoke(credential: CredentialRecord): void;
}) {
  const now = new Date();
  // Admins change every credential, other operators rotate their own.
  const isAdmin = session.current.value?.operator.role === "admin";
  const mayChange = isAdmin || credentials.some((credential) => credential.id === ownId);
  const actor: Column<CredentialRecord> = {
    title: kind === "operator" ? "Operator" : "Actor",
    cell: ({ id, access }) => (
      <span>
        <Link to={addressOf(["trail"], { actor: principalText(access.actor) })}>
          <ForeignText text={principalText(access.actor)} />
        </Link>{" "}
        {id === ownId && <Tag tone="accent" text="you" />}
      </span>
    ),
  };
  const state: Column<CredentialRecord> = {
    title: "State",
    cell: (credential) => (
      <span>
        <StateTag state={stateOf(credential, now)} /> <Ends credential={credential} />
      </span>
    ),
  };
  const used: Column<CredentialRecord> = {
    title: "Last used",
    cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? <span class="hint">never</span> : <Time at={lastUsedAt} />),
  };
  const id: Column<CredentialRecord> = {
    title: "Id",
    kind: "code",
    cell: (credential) => <Link to={addressOf(["access", credential.id])}>{credential.id}</Link>,
  };
  const does: Column<CredentialRecord> = {
    title: "Change",
    cell: (credential) => (
      <Changes
        credential={credential}
        isThere={stateOf(credential, now) === "live" && (isAdmin || credential.id === ownId)}
        onRotate={onRotate}
        onRevoke={onRevoke}
      />
    ),
  };
  const more =
    kind === "operator"
      ? [{ title: "May", cell: operatorText }]
      : [
          { title: "Owner", cell: ({ access }: CredentialRecord) => ownerText(access) },
          { title: "Purposes", cell: ({ access }: CredentialRecord) => purposesText(access) },
          { title: "Senders", cell: ({ access }: CredentialRecord) => sendersText(access) },
        ];
  return (
    <Table
      label={kind === "operator" ? "Operators" : "Credentials"}
      columns={[actor, ...more, used, state, id, ...(mayChange ? [does] : [])]}
      rows={credentials}
      keyOf={(credential) => credential.id}
    />
  );
}

function Ends({ credential: { expiresAt, revokedAt } }: { credential: CredentialRecord }) {
  if (revokedAt !== undefined)
    return (
      <span class="hint">
        <Time at={revokedAt} />
      </span>
    );
  if (expiresAt === undefined) return <span class="hint">without end</span>;
  return (
    <span class="hint">
      until <Time at={expiresAt} />
    </span>
  );
}

function Changes({
  credential,
  isThere,
  onRotate,
  onRevoke,
}: {
  credential: CredentialRecord;
  isThere: boolean;
  onRotate(credential: CredentialRecord): void;
  onRevoke(credential: CredentialRecord): void;
}) {
  const whose = <span class="hidden"> the credential of {visibleText(principalText(credential.access.actor))}</span>;
  if (!isThere) return null;
  return (
    <span class="actions">
      {credential.access.signedIn !== true && (
        <button type="button" class="button" onClick={() => onRotate(credential)}>
          Rotate{whose}
        </button>
      )}
      {may("revokeCredential") && (
        <button type="button" class="button danger" onClick={() => onRevoke(credential)}>
          Revoke{whose}
        </button>
      )}
    </span>
  );
}
