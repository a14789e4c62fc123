import type { Grant } from "turnpike/contracts";
import { grantText, principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";

/** A chain of grants as a small picture: who gave to whom, from the first issuer to the last holder. */
export function Chain({ grants, current }: { grants: readonly Grant[]; current?: string }) {
  const [first] = grants;
  if (first === undefined) return null;
  return (
    <div class="chain-frame">
      <ol class="chain">
        <li>
          <span class="who">
            <ForeignText text={principalText(first.issuer)} />
          </span>
        </li>
        {grants.map((grant) => (
          <li key={grant.id} class="link" aria-current={grant.id === current ? "step" : undefined}>
            <span class="via">
              <span class="hidden">gave, as </span>
              <GrantLink id={grant.id} />
              <span class="hint">
                <ForeignText text={grantText(grant)} />
              </span>
            </span>
            <span class="hidden"> to </span>
            <span class="who">
              <ForeignText text={principalText(grant.subject)} />
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
