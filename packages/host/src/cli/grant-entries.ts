import type { GrantEntry } from "../admin-contract/index.ts";
import { requestList } from "./admin-request.ts";
import type { OperatorFlags } from "./connection.ts";
import type { Report } from "./progress.ts";

/** All grants of a tenant with their states, page by page. */
export async function readTenantGrants(
  flags: OperatorFlags,
  namespaceId: string,
  report: Report,
): Promise<GrantEntry[]> {
  const found: GrantEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await requestList(flags, "listGrants", "grants", { namespaceId, limit: 500, cursor });
    found.push(...page.grants);
    report(countedGrants(found.length));
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

export function countedGrants(count: number): string {
  return `${count} ${count === 1 ? "grant" : "grants"}`;
}
