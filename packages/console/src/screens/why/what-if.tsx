import { may } from "../../shared/api.ts";
import { useRead } from "../../shared/load.ts";
import { addressOf, go, place, setQuery } from "../../shared/place.ts";
import { useSettled } from "../../shared/settled.ts";
import { SelectField, TextField } from "../../parts/fields.tsx";
import { Link } from "../../parts/link.tsx";
import { DraftView } from "../grants/draft-view.tsx";
import { emptyDraft, freshId } from "../grants/draft.ts";
import { Preview } from "../grants/preview.tsx";

/** A draft of a grant, or a revocation, held against the last decisions. Nothing is changed by it. */
export function WhatIf() {
  const { rest, query } = place.value;
  const isRevocation = rest[1] === "revoke";
  return (
    <>
      <div class="form row">
        <SelectField
          label="What if there were"
          value={isRevocation ? "revoke" : ""}
          options={[
            { value: "", text: "a new grant" },
            { value: "revoke", text: "a revocation" },
          ]}
          onChange={(kind) => go(addressOf(["why", "what-if", ...(kind === "" ? [] : [kind])]))}
        />
      </div>
      {isRevocation ? (
        <WhatIfRevoked id={query.get("grant") ?? ""} />
      ) : (
        // The same draft as in the form that issues grants, so that the operator can issue it there.
        <DraftView name="issue" first={() => emptyDraft(freshId())} />
      )}
    </>
  );
}

function WhatIfRevoked({ id }: { id: string }) {
  const { tenant = "" } = place.value;
  const known = useRead("listGrants", { namespaceId: tenant, state: "live", limit: 200 });
  const settled = useSettled(id.trim());
  return (
    <>
      <div class="form row">
        <TextField
          label="The grant's id"
          value={id}
          suggestions={known.value?.grants.map(({ grant }) => grant.id) ?? []}
          onChange={(text) => setQuery({ grant: text }, "typed")}
        />
      </div>
      {settled !== "" && (
        <section class="panel" aria-label="What would change">
          <h2>What would change</h2>
          <Preview change={{ revoke: settled }} />
          {may("revokeGrant") && <Link to={addressOf(["grants", settled, "revoke"])}>Go on and revoke it…</Link>}
        </section>
      )}
    </>
  );
}
