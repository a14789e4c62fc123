import type { JsonValue } from "turnpike/contracts";
import type { ResourceProvider } from "turnpike/kernel";

/** Files in memory behind the resource namespace `files`: `list` and `read`, in pages of two unless fewer are asked for. */
export function fileProvider(files: Readonly<Record<string, string>>): ResourceProvider {
  return {
    namespace: "files",
    invoke({ operationId, action, resource, context, input }) {
      const about = { operationId, completedAt: context.now };
      const path = resource.path.join("/");
      const succeed = (output: JsonValue) => Promise.resolve({ status: "succeeded" as const, ...about, output });
      const isThere = Object.keys(files).some((file) => path === "" || `${file}/`.startsWith(`${path}/`));
      if (isThere && action === "list") return succeed(listing(files, path, input as never));
      const content = files[path];
      if (content !== undefined) return succeed({ content, version: 1 });
      const error = { code: "not_found", message: "There is no file at this path." };
      return Promise.resolve({ status: "failed" as const, ...about, error });
    },
  };
}

function listing(
  files: Readonly<Record<string, string>>,
  folder: string,
  { limit, cursor = "0" }: { limit: number; cursor?: string },
): JsonValue {
  const below = Object.keys(files).filter((path) => folder === "" || `${path}/`.startsWith(`${folder}/`));
  const start = Number(cursor);
  const end = start + Math.min(2, limit);
  const entries = below.slice(start, end).map((path) => ({ path, version: 1 }));
  return { entries, ...(end < below.length && { cursor: String(end) }) };
}
