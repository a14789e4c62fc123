import { openDatabase } from "../../packages/host/src/storage/open-database.ts";
import { openStores } from "../../packages/host/src/compose/stores.ts";

/** Revokes a credential as another host on the same database would. */
export function revokeCredential(location: string, id: string): Promise<boolean> {
  return withStores(location, ({ credentials }) => credentials.revoke(id, new Date().toISOString()));
}

/** Revokes a grant as another host on the same database would. */
export function revokeGrant(location: string, tenant: string, id: string): Promise<boolean> {
  return withStores(location, ({ grants }) => grants.revoke(tenant, id, new Date().toISOString()));
}

async function withStores<T>(location: string, act: (stores: ReturnType<typeof openStores>) => Promise<T>): Promise<T> {
  const database = await openDatabase(location);
  try {
    return await act(openStores(database));
  } finally {
    await database.close();
  }
}
