import { principalKey, type PrincipalRef } from "turnpike/contracts";
import { defineTool, ToolError, type ToolHandler } from "turnpike/kernel";
import { z } from "zod";
import { columnText } from "../database/column-text.ts";
import type { Database } from "../database/database.ts";

/** Whose files: an owner in a tenant. */
interface FileOwner {
  namespaceId: string;
  owner: PrincipalRef;
}

/** Files of every owner of every tenant. */
export interface FileStore {
  read(of: FileOwner, path: readonly string[]): Promise<{ content: string; version: number } | undefined>;
  /** The paths at and below a folder. */
  list(of: FileOwner, folder: readonly string[]): Promise<string[]>;
  write(of: FileOwner, path: readonly string[], content: string): Promise<void>;
}

export function createFileStore({ db }: Database): FileStore {
  const rowOf = ({ namespaceId, owner }: FileOwner, path: readonly string[]) => ({
    namespace_id: columnText(namespaceId),
    owner: columnText(principalKey(owner)),
    path: path.join("/"),
  });
  return {
    async read(of, path) {
      const row = rowOf(of, path);
      const file = await db
        .selectFrom("files")
        .select(["content", "version"])
        .where((all) => all.and(row))
        .executeTakeFirst();
      return file && { content: JSON.parse(file.content) as string, version: file.version };
    },
    async list(of, folder) {
      const { path: prefix, ...mine } = rowOf(of, folder);
      const rows = await db
        .selectFrom("files")
        .select("path")
        .where((file) => file.and(mine))
        .execute();
      const paths = rows.map(({ path }) => path).toSorted();
      return paths.filter((path) => prefix === "" || path === prefix || path.startsWith(`${prefix}/`));
    },
    async write(of, path, content) {
      // As JSON, which both databases keep to the last character.
      const written = { content: JSON.stringify(content), updated_at: new Date().toISOString() };
      await db
        .insertInto("files")
        .values({ ...rowOf(of, path), version: 1, ...written })
        .onConflict((conflict) =>
          conflict
            .columns(["namespace_id", "owner", "path"])
            .doUpdateSet((file) => ({ ...written, version: file("files.version", "+", 1) })),
        )
        .execute();
    },
  };
}

const PathInput = z.strictObject({ path: z.string().max(4096).describe("slash-separated, such as notes/todo.md") });

/** Reading and listing the owner's files. */
export function fileTools(files: FileStore): ToolHandler[] {
  const at = (action: string) => ({
    ceiling: { action, resource: { namespace: "files", path: [] } },
    of: ({ path }: { path: string }) => ({ action, resource: { namespace: "files", path: segments(path) } }),
  });
  const common = { namespace: "files", readWrite: "read", annotations: { readOnly: true }, input: PathInput } as const;
  return [
    defineTool({
      ...common,
      name: "files.read",
      description: "Reads one file.",
      output: z.strictObject({ content: z.string(), version: z.int() }),
      requires: at("read"),
      async run({ path }, { context }) {
        const file = await files.read(context, segments(path));
        if (file === undefined) throw new ToolError("not_found", "There is no file at this path.");
        return file;
      },
    }),
    defineTool({
      ...common,
      name: "files.list",
      description: "Lists the files at and below a folder.",
      output: z.strictObject({ paths: z.array(z.string()) }),
      requires: at("list"),
      run: async ({ path }, { context }) => ({ paths: await files.list(context, segments(path)) }),
    }),
  ];
}

function segments(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}
