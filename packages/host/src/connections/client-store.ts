import { secretHashOf } from "../access/index.ts";
import { columnText } from "../shared/index.ts";
import type { Database, Schema } from "../storage/index.ts";
import type { OAuthConfig } from "./oauth-config.ts";
import { placeOf, withoutPort } from "./redirects.ts";

/** A program that asks to act for people. */
export interface OAuthClient {
  id: string;
  name: string;
  redirectUris: readonly string[];
  /** How its name is known: an operator configured it, or it says so itself. */
  known: "configured" | "registered";
}

/** What a client says of itself. */
interface Registration {
  name?: string | undefined;
  redirectUris: readonly string[];
}

/** The clients of this host: those that are configured, and those that registered themselves. */
export interface ClientStore {
  find(id: string): Promise<OAuthClient | undefined>;
  /** Registers a client. One that says the same again is the same client. Undefined when there are too many. */
  register(registration: Registration, at: string): Promise<(OAuthClient & { registeredAt: string }) | undefined>;
}

/** How many clients may have registered. Those that no one let in are removed after a day. */
const mostClients = 10_000;

export function createClientStore({ db }: Database, configured: OAuthConfig["clients"]): ClientStore {
  const known = new Map(
    configured.map(({ clientId, name, redirectUris }): [string, OAuthClient] => [
      clientId,
      { id: clientId, name, redirectUris, known: "configured" },
    ]),
  );
  const read = async (id: string): Promise<(OAuthClient & { registeredAt: string }) | undefined> => {
    const row = await db.selectFrom("oauth_clients").selectAll().where("id", "=", columnText(id)).executeTakeFirst();
    return row && clientOf(row);
  };
  return {
    find: async (id) => known.get(id) ?? (await read(id)),
    async register({ name: said, redirectUris }, at) {
      const [first = ""] = redirectUris;
      const name = columnText(said ?? placeOf(first));
      // A program that listens on a port which is free is the same program with another port.
      const places = [...new Set(redirectUris.map(withoutPort))].toSorted();
      const id = `dyn-${secretHashOf(JSON.stringify([name, places])).slice(0, 32)}`;
      const before = await read(id);
      if (before !== undefined) return { ...before, redirectUris };
      const { count } = await db
        .selectFrom("oauth_clients")
        .select(({ fn }) => fn.countAll<number | string>().as("count"))
        .executeTakeFirstOrThrow();
      if (Number(count) >= mostClients) return undefined;
      const row = { id, name, redirect_uris: JSON.stringify(places), created_at: at, used_at: null };
      await db
        .insertInto("oauth_clients")
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return { ...clientOf(row), redirectUris };
    },
  };
}

function clientOf(row: Schema["oauth_clients"]): OAuthClient & { registeredAt: string } {
  const { id, name, redirect_uris, created_at: registeredAt } = row;
  return { id, name, redirectUris: JSON.parse(redirect_uris) as string[], known: "registered", registeredAt };
}
