import { principalKey, type Grant } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { coverageOf, type ReachScope } from "turnpike/kernel";
import { columnText } from "../../shared/index.ts";
import type { AdminInput, AdminOutput } from "../../admin-contract/index.ts";
import { acrossTenants } from "./across-tenants.ts";
import { checkGrants } from "./check-grants.ts";
import { invalid, type AdminOperations, type AdminServices } from "./admin-services.ts";

type Reacher = AdminOutput<"listReachers">["reachers"][number];

/** How many principals a searching page reads, how many grants a page of reachers reads, and how many of those at once. */
const [searchedPrincipals, scannedGrants, scannedAtOnce] = [1000, 2000, 500];

/** Who can do what. Nothing of this is recorded, because no act happened. */
export function reachOperations(
  services: AdminServices,
): AdminOperations<"listPrincipals" | "readReach" | "listReachers"> {
  const { stores, kernel, clock } = services;
  type ListInput = AdminInput<"listPrincipals"> & { namespaceId: string };
  const { grants, principals } = stores;
  /** Which of these grants are valid now, each with its parents. */
  const liveGrants = async (namespaceId: string, some: readonly Grant[]) => {
    const checked = await checkGrants(stores, some, clock().toISOString());
    const live = checked.filter(({ state }) => state === "live");
    const parents = await grants.findAllStored(namespaceId, [...new Set(live.flatMap(({ chain }) => chain.parents))]);
    return live.map(({ grant, chain }) => ({
      grant,
      chain: [grant, ...chain.parents.flatMap((id) => parents.get(id) ?? [])],
    }));
  };
  return {
    listPrincipals: acrossTenants(services, "principals", async ({ namespaceId, search, limit, cursor }: ListInput) => {
      const most = search === undefined ? limit : searchedPrincipals;
      const page = await principals.list(namespaceId, cursor, most);
      const fitting = page.principals.filter(({ principal }) => principalKey(principal).includes(search ?? ""));
      const shown = fitting.slice(0, limit);
      const names = shown.map(({ name }) => name);
      const counts = await principals.count(namespaceId, names);
      const next = fitting.length > limit ? names.at(-1) : page.next;
      return {
        principals: shown.map(({ principal, name }) => ({
          namespaceId,
          principal,
          ...(counts.get(name) ?? { held: 0, issued: 0, credentials: 0 }),
        })),
        ...(next !== undefined && { cursor: next }),
      };
    }),
    async readReach({ namespaceId, actor, authority, owner, purpose }) {
      const scope: ReachScope = {
        namespaceId,
        actor,
        ...(authority && { authority }),
        ...(owner && { owner }),
        // No grant can name this purpose, so only grants for any purpose count.
        purpose: purpose ?? crypto.randomUUID(),
        now: clock().toISOString(),
        traceId: crypto.randomUUID(),
        enabledToolNamespaces: [],
      };
      const explained = await kernel.explainReach(scope);
      if (explained.status === "computed") return { reach: explained.reach };
      throw new ServiceHttpError(
        503,
        explained.reasonCode,
        "What this principal reaches cannot be told now. Try again.",
      );
    },
    async listReachers({ namespaceId, resource, owner, action, limit, cursor }) {
      const place = { ...resource, ...(owner && { owner }) };
      const found: Reacher[] = [];
      let bytes = 0;
      /** Adds the reachers of some grants to the page. Returns the cursor of the first that has no room. */
      const fill = async (some: readonly Grant[], told = 0): Promise<string | undefined> => {
        for (let start = 0; start < some.length; start += checkedAtOnce) {
          for (const { grant, chain } of await liveGrants(namespaceId, some.slice(start, start + checkedAtOnce))) {
            const size = JSON.stringify(chain).length;
            for (const [number, way] of [...coverageOf(grant, place, action).entries()].slice(told)) {
              const isFull = found.length === limit || bytes + size > maxBytes;
              if (found.length > 0 && isFull) return `at ${number} ${columnText(grant.id)}`;
              found.push(reacherOf(grant, chain, way));
              bytes += size;
            }
          }
        }
        return undefined;
      };
      const from = cursor === undefined ? undefined : readCursor(cursor);
      if (from?.told !== undefined) {
        const begun = await grants.findStored(namespaceId, from.id);
        const next = begun && (await fill([begun], from.told));
        if (next !== undefined) return { reachers: found, cursor: next };
      }
      let after = from?.id;
      for (let scanned = 0; scanned < scannedGrants; scanned += scannedAtOnce) {
        const read = await grants.list(namespaceId, { after, limit: scannedAtOnce });
        const next = await fill(read.filter((grant) => coverageOf(grant, place, action).length > 0));
        if (next !== undefined) return { reachers: found, cursor: next };
        const last = read.at(-1);
        if (last === undefined || read.length < scannedAtOnce) return { reachers: found };
        after = columnText(last.id);
      }
      return { reachers: found, ...(after !== undefined && { cursor: `behind ${after}` }) };
    },
  };
}

/** How many grants are checked at once, with their parents, and how many characters of them a page has. */
const [checkedAtOnce, maxBytes] = [25, 4_000_000];

/** Where a page of reachers begins: behind a grant, or within it, after the `told` reachers that earlier pages had. */
function readCursor(cursor: string): { id: string; told?: number } {
  const [, told, id] = /^(?:behind|at (\d{1,3})) (.+)$/s.exec(cursor) ?? [];
  if (id === undefined) throw invalid("/cursor: expected the cursor of the page before. Leave it out to begin anew.");
  return { id, ...(told !== undefined && { told: Number(told) }) };
}

function reacherOf(grant: Grant, chain: Grant[], way: Pick<Reacher, "owner" | "approval" | "actions">): Reacher {
  const { purposes, expiresAt } = grant.constraints;
  return {
    principal: grant.subject,
    ...way,
    ...(purposes && { purposes }),
    ...(expiresAt !== undefined && { expiresAt }),
    chain,
  };
}
