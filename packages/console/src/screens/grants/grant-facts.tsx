import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { GrantEntry } from "turnpike-host/admin-contract";
import type { Capability, Grant } from "turnpike/contracts";
import { useLoad } from "../../shared/load.ts";
import { capabilityText, grantText, principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";
import { StateMark } from "../../parts/marks.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { type ChainAbove, readChain } from "./read-grants.ts";

/** What capabilities allow, each in words; behind the name of who may, where there is one. */
export function CapabilityList({ of, who }: { of: readonly Capability[]; who?: string }) {
  return (
    <ul class="may">
      {of.map((capability) => (
        <li key={JSON.stringify(capability)}>
          <ForeignText text={`${who === undefined ? "" : `${who} may `}${capabilityText(capability)}`} />
        </li>
      ))}
    </ul>
  );
}

/** Grants by their ids, with their holders; of many the first, and the others on request. */
export function GrantList({ of }: { of: readonly { grant: Grant; state?: GrantEntry["state"] }[] }) {
  const [isAll, setAll] = useState(false);
  const shown = isAll ? of : of.slice(0, 10);
  return (
    <>
      <ul class="plain-list">
        {shown.map(({ grant, state }) => (
          <li key={grant.id}>
            {state && <StateMark state={state} />} <GrantLink id={grant.id} /> of{" "}
            <ForeignText text={principalText(grant.subject)} />
            {state && `, ${state}`}
            <span class="hint">
              {" "}
              <ForeignText text={grantText(grant)} />
            </span>
          </li>
        ))}
      </ul>
      {of.length > shown.length && (
        <button type="button" class="button more" onClick={() => setAll(true)}>
          Show all {of.length}
        </button>
      )}
    </>
  );
}

/** A grant with the chain above it, once it was read. */
export function OfGrant({
  tenant,
  id,
  known = new Map(),
  children,
}: {
  tenant: string;
  id: string;
  /** The grants that were read already. */
  known?: ReadonlyMap<string, GrantEntry>;
  children(above: ChainAbove): ComponentChildren;
}) {
  // Wrapped in an object, because an undefined value would mean that it is still being read.
  const found = useLoad(async () => ({ above: await readChain(tenant, id, known) }), [tenant, id]);
  // The state and uses stay shown while they are read again, also when the list is read later than the grant.
  const { state, used } = known.get(id) ?? {};
  useEffect(() => {
    if (state !== undefined) found.reload();
  }, [state, used]);
  return (
    <Show what="The grant" of={found}>
      {({ above }) =>
        above === undefined ? (
          <Empty title={`There is no grant ${id}.`}>It may be another tenant's, or removed.</Empty>
        ) : (
          children(above)
        )
      }
    </Show>
  );
}
