import { useMemo } from "preact/hooks";
import { may } from "../../shared/api.ts";
import { addressOf, go, place, setQuery } from "../../shared/place.ts";
import { isAboutGrants, useRefresh } from "../../shared/refresh.ts";
import { SelectField, TextField } from "../../parts/fields.tsx";
import { Link } from "../../parts/link.tsx";
import { PrincipalField } from "../../parts/principal-field.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { GrantDetail } from "./grant-detail.tsx";
import { type GrantFilter, isWanted } from "./grant-filter.ts";
import { GrantPicture } from "./grant-picture.tsx";
import { GrantTable } from "./grant-table.tsx";
import { forestOf } from "./grant-tree.ts";
import { grantStates } from "./grant-words.ts";
import { type PicturedGrants, usePicturedGrants } from "./read-grants.ts";

/** All grants, as a picture or as a table, and the one that is selected. */
export function GrantBoard() {
  const { tenant = "", rest, query } = place.value;
  const [selected] = rest;
  const filter: GrantFilter = {
    subject: query.get("subject") ?? "",
    resource: query.get("resource") ?? "",
    state: query.get("state") ?? "",
  };
  const isTable = query.get("view") === "table";
  const grants = usePicturedGrants(tenant, filter);
  useRefresh(grants.reload, isAboutGrants);
  const entries = grants.value?.entries ?? [];
  return (
    <>
      <div class="form row filters" role="search" aria-label="Filter grants">
        <PrincipalField label="Held by" value={filter.subject} onChange={(subject) => setQuery({ subject }, "typed")} />
        <TextField label="Resource" value={filter.resource} onChange={(resource) => setQuery({ resource }, "typed")} />
        <SelectField
          label="State"
          value={filter.state}
          onChange={(state) => setQuery({ state })}
          options={[{ value: "", text: "any" }, ...grantStates]}
        />
        <SelectField
          label="Shown as"
          value={isTable ? "table" : "picture"}
          onChange={(view) => setQuery({ view: view === "table" ? "table" : undefined })}
          options={[
            { value: "picture", text: "Picture" },
            { value: "table", text: "Table" },
          ]}
        />
      </div>
      <div class={selected === undefined ? "board wide" : "board"}>
        <div class="board-main">
          {isTable ? (
            <GrantTable tenant={tenant} filter={filter} />
          ) : (
            <Show what="Grants" of={grants}>
              {(read) => <Tree read={read} filter={filter} selected={selected} />}
            </Show>
          )}
        </div>
        {selected !== undefined && <GrantDetail tenant={tenant} id={selected} entries={entries} />}
      </div>
    </>
  );
}

function Tree({
  read: { entries, isWhole, hasMore },
  filter,
  selected,
}: {
  read: PicturedGrants;
  filter: GrantFilter;
  selected: string | undefined;
}) {
  const forest = useMemo(
    () => forestOf(entries, (entry) => !isWhole || isWanted(filter, entry)),
    [entries, isWhole, JSON.stringify(filter)],
  );
  if (entries.length === 0 && isWhole)
    return (
      <Empty title="There are no grants in this tenant.">
        <p>No one may do anything yet.</p>
        {may("createGrant") && <Link to={addressOf(["grants", "issue"])}>Issue the first one</Link>}
      </Empty>
    );
  if (forest.length === 0)
    return (
      <Empty title="No grant is like that.">
        <Link to={addressOf(["grants"])}>Show all grants</Link>
      </Empty>
    );
  const select = (id: string): void => {
    const { scrollY } = globalThis;
    go(addressOf(["grants", id], Object.fromEntries(place.value.query)));
    // On a wide page the grant is shown beside the picture, so the page stays where it was scrolled to.
    if (globalThis.matchMedia("(width >= 72rem)").matches) globalThis.scrollTo(0, scrollY);
  };
  return (
    <>
      {hasMore && (
        <p class="note">
          These are the first {entries.length} of more than a picture can show. Filter them, or{" "}
          <Link to={addressOf(["grants"], { ...Object.fromEntries(place.value.query), view: "table" })}>
            open the table
          </Link>
          .
        </p>
      )}
      <GrantPicture forest={forest} selected={selected} onSelect={select} />
    </>
  );
}
