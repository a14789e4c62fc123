import type { AuthorizationRequest, JsonObject, JsonValue, ResourceOperation, ToolCall } from "turnpike/contracts";
import type { Database } from "../src/storage/database.ts";
import type { FileOwner } from "../src/files/file-columns.ts";
import { fileProvider } from "../src/files/file-provider.ts";
import { createFileStore, type FileStore } from "../src/files/file-store.ts";
import type { FileLimits } from "../src/files/limits.ts";
import { newTenant } from "./databases.ts";
import { alice, context, neverAborted } from "./records.ts";

/** Which paths a caller's authority covers, whatever the action. */
export type Sight = (path: readonly string[], action: string) => boolean;

/** What is asked for besides a path. */
interface Asking {
  input?: JsonValue;
  sight?: Sight;
  signal?: AbortSignal;
  of?: FileOwner;
}

/** The files of an owner of their own, asked through the resource provider. */
export interface FileWorld {
  files: FileStore;
  mine: FileOwner;
  /** What the last operations asked `covers` for. */
  asked: { act: ToolCall | ResourceOperation; request: AuthorizationRequest }[];
  /** Carries an action out and returns its output, or the code and message it failed with. */
  ask(action: string, path: string, asking?: Asking): Promise<JsonObject>;
  /** Creates files with these contents. */
  seed(contents: Record<string, string>): Promise<void>;
}

/** Sees everything. */
const everything: Sight = () => true;

/** No answer is cut short because the machine is busy with other tests. */
const patient: Partial<FileLimits> = { scanMs: 10_000 };

export function fileWorld(database: Database, limits: Partial<FileLimits> = {}): FileWorld {
  const files = createFileStore(database, { ...patient, ...limits });
  const mine: FileOwner = { namespaceId: newTenant(), owner: alice };
  const asked: FileWorld["asked"] = [];
  let operations = 0;
  return {
    files,
    mine,
    asked,
    async ask(action, path, { input, sight = everything, signal = neverAborted, of = mine } = {}) {
      operations += 1;
      const operation: ResourceOperation = {
        operationId: `operation-${operations}`,
        action,
        resource: { namespace: "files", owner: of.owner, path: path === "" ? [] : path.split("/") },
        context: context({ namespaceId: of.namespaceId, owner: of.owner }),
        ...(input !== undefined && { input }),
      };
      const covers = (act: ToolCall | ResourceOperation, request: AuthorizationRequest): Promise<boolean> => {
        asked.push({ act, request });
        return Promise.resolve(act === operation && sight(request.resource.path, request.action));
      };
      const result = await fileProvider({ files, covers }).invoke(operation, signal);
      if (result.status === "succeeded") return result.output as JsonObject;
      return { code: result.error.code, message: result.error.message };
    },
    async seed(contents) {
      for (const [path, content] of Object.entries(contents)) await files.create(mine, path.split("/"), content);
    },
  };
}

/** The pages of a list, as they are asked for with cursors; all of them, unless that is too many. */
export async function pagesOf(
  world: FileWorld,
  action: string,
  path: string,
  { input, ...asking }: Omit<Asking, "input"> & { input: JsonObject },
  most = Number.POSITIVE_INFINITY,
): Promise<JsonObject[]> {
  const pages: JsonObject[] = [];
  let cursor: JsonValue | undefined;
  do {
    const going = cursor === undefined ? input : { ...input, cursor };
    const page = await world.ask(action, path, { ...asking, input: going });
    pages.push(page);
    cursor = page["cursor"];
  } while (cursor !== undefined && pages.length < most);
  return pages;
}
