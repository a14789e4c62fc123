import { useState } from "preact/hooks";
import type { CredentialRecord, Remaining } from "turnpike-host/admin-contract";
import { remainingId } from "turnpike-host/display";
import { may, request } from "../../shared/api.ts";
import { usePages } from "../../shared/pages.ts";
import { addressOf } from "../../shared/place.ts";
import { isAboutCredentials, useRefresh } from "../../shared/refresh.ts";
import { session } from "../../shared/session.ts";
import { partiesText, principalText } from "../../shared/words.ts";
import { Facts } from "../../parts/facts.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { operatorText, ownerText, purposesText, sendersText, stateOf } from "./credential-text.ts";
import { EndEverything } from "./end-everything.tsx";

/** One credential: what it is, when it was last used, and what it left behind, which one button ends. */
export function CredentialPage({ id }: { id: string }) {
  const [credential, setCredential] = useState<CredentialRecord>();
  const [isEnding, setEnding] = useState(false);
  const pages = usePages(
    async (cursor) => {
      const page = await request("showCredential", { id, limit: 100, cursor });
      setCredential(page.credential);
      return { items: page.remaining, cursor: page.cursor };
    },
    [id],
  );
  useRefresh(() => (pages.items?.length ?? 0) <= 100 && pages.reload(), isAboutCredentials);
  const remaining = pages.items ?? [];
  const isEmpty = pages.items !== undefined && remaining.length === 0 && !pages.hasMore;
  const isRevoked = credential?.revokedAt !== undefined;
  return (
    <>
      {credential && <CredentialFacts credential={credential} />}
      <Panel title="What it left behind">
        {isEmpty && <Empty title="Nothing.">No session, turn, approval, permit or grant goes on without it.</Empty>}
        {remaining.length > 0 && <Table label="What it left behind" columns={columns} rows={remaining} keyOf={keyOf} />}
        <ListEnd what="of what it left behind" of={pages} />
        {credential && may("revokeCredential") && !(isRevoked && isEmpty) && (
          <div class="actions">
            <button type="button" class="button danger" onClick={() => setEnding(true)}>
              {isRevoked ? "End all of it" : "Revoke it and end all of it"}
            </button>
          </div>
        )}
      </Panel>
      {isEnding && credential && (
        <EndEverything
          credential={credential}
          isOwn={session.current.value?.operator.id === id}
          onClose={() => setEnding(false)}
          onChanged={pages.reload}
        />
      )}
    </>
  );
}

function CredentialFacts({ credential }: { credential: CredentialRecord }) {
  const { id, namespaceId, access, createdAt, expiresAt, revokedAt, lastUsedAt } = credential;
  const isOperator = access.admin === true;
  return (
    <Panel
      title={<ForeignText text={principalText(access.actor)} />}
      way={<Link to={addressOf(isOperator ? ["access", "operators"] : ["access"])}>All credentials</Link>}
    >
      <Facts
        of={[
          ["Id", <code key="id">{id}</code>],
          ["State", <StateTag key="state" state={stateOf(credential, new Date())} />],
          ["Last used", lastUsedAt === undefined ? "never" : <Time at={lastUsedAt} />],
          ["May", isOperator ? operatorText(credential) : purposesText(access)],
          ["Tenant", isOperator ? undefined : namespaceId],
          ["Owner", isOperator ? undefined : ownerText(access)],
          ["Senders", isOperator ? undefined : sendersText(access)],
          ["Made", <Time key="made" at={createdAt} />],
          ["Ends", expiresAt === undefined ? undefined : <Time at={expiresAt} />],
          ["Revoked", revokedAt === undefined ? undefined : <Time at={revokedAt} />],
        ]}
      />
    </Panel>
  );
}

const kinds: Readonly<Record<Remaining["kind"], string>> = {
  session: "session of this page",
  turn: "turn that has not ended",
  approval: "approval that waits for another",
  permit: "permit that was not used",
  grant: "grant",
};

const columns: readonly Column<Remaining>[] = [
  { title: "What", cell: ({ kind }) => kinds[kind] },
  { title: "Name", cell: (one) => <Name of={one} /> },
  { title: "Tenant", cell: (one) => (one.kind === "session" ? "" : one.namespaceId) },
  { title: "Whose", cell: whoseText },
  { title: "Until", cell: (one) => ("expiresAt" in one && one.expiresAt ? <Time at={one.expiresAt} /> : "") },
];

function Name({ of: one }: { of: Remaining }) {
  const name = <ForeignText text={remainingId(one)} />;
  if (one.kind === "session") return <code>{name}</code>;
  const { namespaceId } = one;
  if (one.kind === "grant") return <Link to={addressOf(["grants", one.grantId], {}, namespaceId)}>{name}</Link>;
  if (one.kind === "turn")
    return (
      <Link to={addressOf(["turns", one.executionId], { of: principalText(one.actor) }, namespaceId)}>{name}</Link>
    );
  return <Link to={addressOf(["questions", one.escalationId], {}, namespaceId)}>{name}</Link>;
}

function whoseText(one: Remaining): string {
  if (one.kind === "grant") return principalText(one.subject);
  if (one.kind !== "turn") return "";
  return [principalText(one.actor), partiesText(one)].filter(Boolean).join(", ");
}

function keyOf(one: Remaining): string {
  return JSON.stringify([
    one.kind,
    one.kind !== "session" && one.namespaceId,
    one.kind === "turn" && principalText(one.actor),
    remainingId(one),
  ]);
}
