import type { Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
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
  /** Since when the server has another definition, so that the tool is withdrawn. */
  withdrawnAt?: string;
}

/** A pinned tool that is withdrawn: the hash of the other definition that its server has, and since when that is known. */
export interface WithdrawnTool {
  server: string;
  tool: string;
  hash: string;
  at: string;
}

/** The accepted definitions of the tools of MCP servers, for all hosts of one database. */
export interface PinStore {
  /** The hash of every pinned tool of a server, by the tool's name. */
  hashes(server: string): Promise<ReadonlyMap<string, string>>;
  /** The pins of a server, in the order of their names. */
  list(server: string): Promise<Pin[]>;
  /** Pins these tools if nothing of the server is pinned yet. Returns whether it did; otherwise nothing changed. */
  pinFirst(server: string, tools: readonly ToolDefinition[], by: string): Promise<boolean>;
  /** Pins these tools, replacing those that were pinned under the same names. */
  pin(server: string, tools: readonly ToolDefinition[], by: string): Promise<void>;
  /** The tools of these servers that are withdrawn, in the order of their names. */
  listWithdrawn(servers: readonly string[]): Promise<WithdrawnTool[]>;
  /**
   * Marks pinned tools as withdrawn, because the server has definitions with these hashes now. Returns those that were not marked
   * with them before, so of several hosts that notice a change together, only one gets it.
   */
  withdraw(server: string, tools: readonly ListedHash[]): Promise<ListedHash[]>;
  /** Ends the withdrawal of tools for these hashes. A withdrawal for another hash remains. */
  restore(server: string, tools: readonly ListedHash[]): Promise<void>;
}

/** The hash of a tool as a server lists it. */
export type ListedHash = Pick<ToolDefinition, "tool" | "hash">;

/** The store on a database. Writes run one after the other, on all hosts, because each begins with a new revision. */
export function createPinStore({ db }: Pick<Database, "db">, revisions: Revisions): PinStore {
  const rowsOf = (server: string, tools: readonly ToolDefinition[], by: string): Schema["mcp_pins"][] => {
    const pinned = { pinned_at: new Date().toISOString(), pinned_by: columnText(by) };
    const isOffered = { withdrawn_hash: null, withdrawn_at: null };
    return tools.map(({ tool, hash, definition }) => ({ server, tool, hash, definition, ...pinned, ...isOffered }));
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
      return rows.map(({ tool, hash, definition, pinned_at, pinned_by, withdrawn_at }) => ({
        tool,
        hash,
        definition,
        pinnedAt: pinned_at,
        by: pinned_by,
        ...(withdrawn_at !== null && { withdrawnAt: withdrawn_at }),
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
    async listWithdrawn(servers) {
      if (servers.length === 0) return [];
      const rows = await db
        .selectFrom("mcp_pins")
        .select(["server", "tool", "withdrawn_hash", "withdrawn_at"])
        .where("withdrawn_at", "is not", null)
        .where("server", "in", servers)
        .orderBy("server")
        .orderBy("tool")
        .execute();
      return rows.map(({ server, tool, withdrawn_hash, withdrawn_at }) => ({
        server,
        tool,
        hash: withdrawn_hash ?? "",
        at: withdrawn_at ?? "",
      }));
    },
    withdraw: (server, tools) =>
      revisions.write(async (transaction) => {
        const marked: ListedHash[] = [];
        for (const { tool, hash } of tools) {
          const { numUpdatedRows } = await transaction
            .updateTable("mcp_pins")
            .set({ withdrawn_hash: hash, withdrawn_at: new Date().toISOString() })
            .where("server", "=", server)
            .where("tool", "=", tool)
            // A definition that was accepted meanwhile is not withdrawn.
            .where("hash", "!=", hash)
            .where((where) => where.or([where("withdrawn_hash", "is", null), where("withdrawn_hash", "!=", hash)]))
            .executeTakeFirst();
          if (numUpdatedRows > 0n) marked.push({ tool, hash });
        }
        return marked;
      }),
    restore: (server, tools) =>
      revisions.write(async (transaction) => {
        for (const { tool, hash } of tools)
          await transaction
            .updateTable("mcp_pins")
            .set({ withdrawn_hash: null, withdrawn_at: null })
            .where("server", "=", server)
            .where("tool", "=", tool)
            .where("withdrawn_hash", "=", hash)
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
