import type { GrantEntry } from "turnpike-host/admin-contract";
import type { Grant } from "turnpike/contracts";
import { request } from "../../shared/api.ts";
import { type Loaded, useLoad, useRead } from "../../shared/load.ts";
import { type GrantFilter, queryOf } from "./grant-filter.ts";

/** The most grants that one request returns. A picture of more would not be readable. */
const pictured = 500;

/** The grants of a picture. */
export interface PicturedGrants {
  entries: readonly GrantEntry[];
  /** Whether these are all there are, so that the page filters them itself and shows the chains above. */
  isWhole: boolean;
  /** Whether there are more like these than one page has. */
  hasMore: boolean;
}

/** Reads the grants for a picture: all of them when they are few, else those that the filter wants. */
export function usePicturedGrants(tenant: string, filter: GrantFilter): Loaded<PicturedGrants> {
  const first = useRead("listGrants", { namespaceId: tenant, limit: pictured });
  const query = queryOf(filter);
  const isMuch = first.value?.cursor !== undefined && Object.keys(query).length > 0;
  const some = useLoad(
    async (signal) =>
      isMuch ? request("listGrants", { namespaceId: tenant, limit: pictured, ...query }, signal) : undefined,
    [tenant, isMuch ? JSON.stringify(query) : ""],
  );
  const reload = (): void => {
    first.reload();
    if (isMuch) some.reload();
  };
  const answer = isMuch ? some.value : first.value;
  return {
    value: answer && {
      entries: answer.grants,
      isWhole: first.value?.cursor === undefined,
      hasMore: answer.cursor !== undefined,
    },
    problem: first.problem ?? some.problem,
    isLoading: first.isLoading || some.isLoading,
    reload,
  };
}

/** A grant and everything above it, the first issuer's first. */
export interface ChainAbove {
  entry: GrantEntry;
  chain: readonly Grant[];
}

/** Reads a grant and its chain, from what is there already where it can. */
export async function readChain(
  tenant: string,
  id: string,
  known: ReadonlyMap<string, GrantEntry>,
): Promise<ChainAbove | undefined> {
  const find = async (wanted: string): Promise<GrantEntry | undefined> =>
    known.get(wanted) ?? (await request("listGrants", { namespaceId: tenant, id: wanted })).grants[0];
  const entry = await find(id);
  if (entry === undefined) return undefined;
  const chain = [entry.grant];
  // A chain has at most 16 links; one that goes round in a circle ends there too.
  for (let parentId = entry.grant.parentId; parentId !== undefined && chain.length <= 16;) {
    const parent = await find(parentId);
    if (parent === undefined) break;
    chain.unshift(parent.grant);
    parentId = parent.grant.parentId;
  }
  return { entry, chain };
}
