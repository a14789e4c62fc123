import type { AdminServices } from "./admin-services.ts";
import { invalid } from "./admin-services.ts";

interface ListInput {
  namespaceId?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}

/** How many pages of single tenants one page of all tenants reads, so that it is quick even if most are empty. */
const pagesAtOnce = 50;

/**
 * A list of all tenants from the list of one: tenant by tenant, in the order of their names. A page may be short, or empty,
 * before the end. Its cursor has the tenant and the cursor of that tenant's list; there is none after the last page.
 */
export function acrossTenants<Input extends ListInput, Key extends string, Item>(
  { stores: { tenants } }: Pick<AdminServices, "stores">,
  key: Key,
  listOne: (input: Input & { namespaceId: string }) => Promise<Record<Key, Item[]> & { cursor?: string | undefined }>,
): (input: Input) => Promise<Record<Key, Item[]> & { cursor?: string | undefined }> {
  type Page = Record<Key, Item[]> & { cursor?: string | undefined };
  const nameOf = async (after: string | undefined): Promise<string | undefined> => {
    let place = after;
    for (;;) {
      const { names, next } = await tenants.listLiving(place, 1);
      if (names[0] !== undefined || next === undefined) return names[0];
      place = next;
    }
  };
  return async (input) => {
    const { namespaceId, cursor, limit } = input;
    if (namespaceId !== undefined) return listOne({ ...input, namespaceId });
    const found: Item[] = [];
    let { tenant, inner } = cursor === undefined ? { tenant: undefined, inner: undefined } : placeOf(cursor);
    for (let pages = 0; pages < pagesAtOnce && found.length < limit; pages += 1) {
      if (inner === undefined) {
        tenant = await nameOf(tenant);
        if (tenant === undefined) return { [key]: found } as Page;
      }
      const one = { ...input, namespaceId: tenant ?? "", limit: limit - found.length, cursor: inner };
      const page: Page = await listOne(one);
      found.push(...page[key]);
      inner = page.cursor;
    }
    const isEnd = inner === undefined && (await nameOf(tenant)) === undefined;
    return { [key]: found, ...(!isEnd && { cursor: cursorOf(tenant ?? "", inner) }) } as Page;
  };
}

/** A tenant's name may contain any character, so its length comes first. */
function cursorOf(tenant: string, inner = ""): string {
  return `${tenant.length}.${tenant}${inner}`;
}

function placeOf(cursor: string): { tenant: string; inner: string | undefined } {
  const [head = "", length = ""] = /^(\d{1,4})\./.exec(cursor) ?? [];
  const tenant = cursor.slice(head.length, head.length + Number(length));
  if (head === "" || tenant.length < Number(length) || tenant === "")
    throw invalid("/cursor: expected the cursor of a page of all tenants.");
  return { tenant, inner: cursor.slice(head.length + tenant.length) || undefined };
}
