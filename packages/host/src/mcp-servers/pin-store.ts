import type { Transaction } from "kysely";
import { columnText } from "../base/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";

/** A tool as a server defines it: canonical JSON, and the hash of that. */
export interface ToolDefinition {
  tool: string;
  hash: string;
  definition: string;
}

/** A definition that was accepted, when and by whom. */
export interface Pin extends ToolDefinition {
  pinnedAt: string;
  by: string;
}

/** The accepted definitions of the tools of MCP servers, for all hosts of one database. */
export interface PinStore {
  /** The hash of every pinned tool of a server, by the tool's name. */
  hashes(server: string): Promise<ReadonlyMap<string, string>>;
  /** The pins of a server, in the order of their names. */
  list(server: string): Promise<Pin[]>;
  /** Pins these tools if nothing of the server is pinned yet. Returns whether it did; otherwise nothing changed. */
  pinFirst(server: string, tools: readonly ToolDefinition[], by: string): Promise<boolean>;
  /** Pins these tools, in the place of what was pinned under their names. */
  pin(server: string, tools: readonly ToolDefinition[], by: string): Promise<void>;
}

/** The store on a database. Writes run one after the other, on all hosts, because each begins with a new revision. */
export function createPinStore({ db }: Pick<Database, "db">, revisions: Revisions): PinStore {
  const rowsOf = (server: string, tools: readonly ToolDefinition[], by: string): Schema["mcp_pins"][] => {
    const pinned = { pinned_at: new Date().toISOString(), pinned_by: columnText(by) };
    return tools.map(({ tool, hash, definition }) => ({ server, tool, hash, definition, ...pinned }));
  };
  const remove = async (
    transaction: Transaction<Schema>,
    server: string,
    tools: readonly ToolDefinition[],
  ): Promise<void> => {
    const names = tools.map(({ tool }) => tool);
    await transaction.deleteFrom("mcp_pins").where("server", "=", server).where("tool", "in", names).execute();
  };
  return {
    hashes: (server) => readHashes(db, server),
    async list(server) {
      const rows = await db.selectFrom("mcp_pins").selectAll().where("server", "=", server).orderBy("tool").execute();
      return rows.map(({ tool, hash, definition, pinned_at, pinned_by }) => ({
        tool,
        hash,
        definition,
        pinnedAt: pinned_at,
        by: pinned_by,
      }));
    },
    pinFirst: (server, tools, by) =>
      revisions.write(async (transaction) => {
        const isKnown = (await readHashes(transaction, server)).size > 0;
        if (isKnown || tools.length === 0) return false;
        await transaction
          .insertInto("mcp_pins")
          .values(rowsOf(server, tools, by))
          .execute();
        return true;
      }),
    pin: (server, tools, by) =>
      revisions.write(async (transaction) => {
        if (tools.length === 0) return;
        await remove(transaction, server, tools);
        await transaction
          .insertInto("mcp_pins")
          .values(rowsOf(server, tools, by))
          .execute();
      }),
  };
}

/** The hash of every pinned tool of a server, by the tool's name. */
async function readHashes(db: Pick<Database["db"], "selectFrom">, server: string): Promise<Map<string, string>> {
  const rows = await db.selectFrom("mcp_pins").select(["tool", "hash"]).where("server", "=", server).execute();
  return new Map(rows.map(({ tool, hash }) => [tool, hash]));
}

/** The hashes of all pinned tools, by server and tool. */
export async function readAllHashes(db: Pick<Database["db"], "selectFrom">): Promise<PinnedHashes> {
  const rows = await db.selectFrom("mcp_pins").select(["server", "tool", "hash"]).execute();
  const servers = new Map<string, Map<string, string>>();
  for (const { server, tool, hash } of rows) {
    const tools = servers.get(server) ?? new Map<string, string>();
    servers.set(server, tools.set(tool, hash));
  }
  return servers;
}

/** Hashes by server and tool. */
export type PinnedHashes = ReadonlyMap<string, ReadonlyMap<string, string>>;
