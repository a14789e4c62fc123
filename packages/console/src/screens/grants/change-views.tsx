import type { Grant } from "turnpike/contracts";
import { may, request } from "../../shared/api.ts";
import { addressOf, go } from "../../shared/place.ts";
import { ActionButton } from "../../parts/button.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Problem } from "../../parts/states.tsx";
import { Chain } from "./chain.tsx";
import { DraftView } from "./draft-view.tsx";
import { derivationOf, draftBelow, emptyDraft, freshId } from "./draft.ts";
import { OfGrant } from "./grant-facts.tsx";
import { isUnread, PreviewShown, usePreview } from "./preview.tsx";

/** A form for a new grant, with what it would change while it is typed. */
export function IssueView() {
  if (!may("createGrant")) return <NotAllowed to="issue" />;
  return (
    <DraftView
      name="issue"
      first={() => emptyDraft(freshId())}
      verb="Issue"
      send={(grant) => request("createGrant", grant)}
    />
  );
}

function NotAllowed({ to }: { to: string }) {
  return <Empty title={`Your role may read grants, but not ${to} them.`} />;
}

/** A narrower grant below another. */
export function DeriveView({ tenant, id }: { tenant: string; id: string }) {
  if (!may("deriveGrant")) return <NotAllowed to="derive" />;
  return (
    <OfGrant tenant={tenant} id={id}>
      {({ entry: { grant }, chain }) => (
        <>
          <h2>
            Derive from <ForeignText text={grant.id} />
          </h2>
          <Chain grants={chain} current={grant.id} />
          <p class="hint">The new grant may be narrower than this one, never wider; it falls with it.</p>
          <DraftView
            key={id}
            name={`derive ${id}`}
            first={() => draftBelow(grant, freshId())}
            verb="Derive"
            send={sendDerived}
          />
        </>
      )}
    </OfGrant>
  );
}

function sendDerived(grant: Grant) {
  return request("deriveGrant", { namespaceId: grant.namespaceId, ...derivationOf(grant) });
}

/** Shows what a revocation also ends. The button comes after that. */
export function RevokeView({ tenant, id }: { tenant: string; id: string }) {
  if (!may("revokeGrant")) return <NotAllowed to="revoke" />;
  return (
    <OfGrant tenant={tenant} id={id}>
      {({ entry: { grant }, chain }) => (
        <section class="panel" aria-labelledby="revoke">
          <h2 id="revoke">
            Revoke <ForeignText text={id} />?
          </h2>
          <Chain grants={chain} current={id} />
          {grant.revokedAt === undefined ? (
            <Revocation tenant={tenant} id={id} />
          ) : (
            <Problem text="This grant was revoked before." />
          )}
        </section>
      )}
    </OfGrant>
  );
}

function Revocation({ tenant, id }: { tenant: string; id: string }) {
  const preview = usePreview({ revoke: id });
  const act = async (): Promise<void> => {
    await request("revokeGrant", { namespaceId: tenant, id });
    go(addressOf(["grants", id]));
  };
  return (
    <>
      <PreviewShown preview={preview} isRevocation />
      <div class="actions">
        <ActionButton kind="danger" isDisabled={isUnread(preview)} act={act}>
          Revoke it, from the next call on
        </ActionButton>
        <Link to={addressOf(["grants", id])}>Keep it</Link>
      </div>
      <p class="hint">A revocation cannot be taken back; a new grant can be issued.</p>
    </>
  );
}
