import type { GrantEntry } from "turnpike-host/admin-contract";
import type { Constraints } from "turnpike/contracts";
import { may } from "../../shared/api.ts";
import { addressOf } from "../../shared/place.ts";
import { needsApproval, principalText, visibleText } from "../../shared/words.ts";
import { Facts } from "../../parts/facts.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { StateTag, Tag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { whyAddress } from "../why-address.ts";
import { Chain } from "./chain.tsx";
import { CapabilityList, GrantList, OfGrant } from "./grant-facts.tsx";
import { stateWords, termsOf } from "./grant-words.ts";
import { GrantHistory } from "./grant-history.tsx";
import type { ChainAbove } from "./read-grants.ts";

/** One grant: what it allows in words, where it comes from, and what hangs on it. */
export function GrantDetail({
  tenant,
  id,
  entries,
}: {
  tenant: string;
  id: string;
  /** The grants that were read already. */
  entries: readonly GrantEntry[];
}) {
  const known = new Map(entries.map((entry) => [entry.grant.id, entry]));
  return (
    <section class="panel detail" aria-label={`Grant ${visibleText(id)}`}>
      <OfGrant tenant={tenant} id={id} known={known}>
        {(above) => <Detail above={above} derived={entries.filter(({ grant }) => grant.parentId === id)} />}
      </OfGrant>
    </section>
  );
}

function Detail({ above: { entry, chain }, derived }: { above: ChainAbove; derived: readonly GrantEntry[] }) {
  const { grant, state, rule, used } = entry;
  return (
    <>
      <header>
        <h2 class="code">
          <ForeignText text={grant.id} />
        </h2>
        <p>
          <StateTag state={state} /> {needsApproval(grant) && <Tag text="needs approval" tone="wait" />}{" "}
          <span class="hint">
            {stateWords[state]}
            {rule !== undefined && ` (${rule})`}
          </span>
        </p>
      </header>
      <div>
        <h3>
          <ForeignText text={principalText(grant.subject)} /> may
        </h3>
        <CapabilityList of={grant.capabilities} />
      </div>
      <Facts
        of={[
          ...termsOf(grant.constraints, used),
          ["Issued", <Time at={grant.issuedAt} />],
          ["Revoked", grant.revokedAt && <Time at={grant.revokedAt} />],
        ]}
      />
      <div>
        <h3>Where it comes from</h3>
        <Chain grants={chain} current={grant.id} />
      </div>
      {derived.length > 0 && (
        <div>
          <h3>Derived from it: {derived.length}</h3>
          <GrantList of={derived} />
        </div>
      )}
      <Actions entry={entry} />
      <GrantHistory tenant={grant.namespaceId} id={grant.id} />
    </>
  );
}

function Actions({ entry: { grant, state } }: { entry: GrantEntry }) {
  const { id, subject, issuer, capabilities, constraints, revokedAt } = grant;
  const [capability] = capabilities;
  const actor = principalText(subject);
  const why = whyAddress({
    actor: subject,
    authority: issuer,
    owner: capability?.resource.owner ?? issuer,
    action: capability?.actions.find((action) => action !== "*") ?? "read",
    resource: capability?.resource,
    purpose: constraints.purposes?.[0],
  });
  const obstacle = derivationObstacle(state, constraints);
  return (
    <>
      <div class="actions">
        {may("deriveGrant") && obstacle === undefined && (
          <Link class="button" to={addressOf(["grants", id, "derive"])}>
            Derive…
          </Link>
        )}
        {may("revokeGrant") && revokedAt === undefined && (
          <Link class="button danger" to={addressOf(["grants", id, "revoke"])}>
            Revoke…
          </Link>
        )}
        <Link to={why}>Why</Link>
        <Link to={addressOf(["grants", "reach"], { actor })}>
          All that <ForeignText text={actor} /> can reach
        </Link>
      </div>
      {may("deriveGrant") && obstacle !== undefined && <p class="hint">Nothing can be derived from it: {obstacle}</p>}
    </>
  );
}

function derivationObstacle(state: string, { maxUses, delegationDepth = 0 }: Constraints): string | undefined {
  if (state !== "live") return `it is ${state}.`;
  if (maxUses !== undefined) return "its uses are counted.";
  return delegationDepth === 0 ? "it may not be passed on." : undefined;
}
