import type { JsonValue, ResourceOperation } from "../contracts/index.ts";
import type { ResourceProvider } from "../kernel/index.ts";

/** A resource provider in memory. */
export interface MemoryResources extends ResourceProvider {
  readonly operations: readonly ResourceOperation[];
}

/**
 * Answers `read` with what was last `write`n at that path of that owner in that tenant, `null` at first.
 *
 * @example
 * import { createKernel } from "turnpike/kernel";
 * import { memoryGrants, memoryResources } from "turnpike/testing";
 *
 * const resources = memoryResources("notes");
 * const kernel = createKernel({ grants: memoryGrants([grant]), resources: [resources], audit: "none" });
 * const read = { operationId: "read-1", action: "read", resource: { namespace: "notes", path: ["a"] } };
 * console.log((await kernel.invokeResource(context, read)).status); // succeeded
 */
export function memoryResources(namespace: string): MemoryResources {
  const values = new Map<string, JsonValue>();
  const operations: ResourceOperation[] = [];
  return {
    namespace,
    operations,
    invoke(operation) {
      operations.push(operation);
      const { operationId, action, resource, context, input } = operation;
      const key = JSON.stringify([context.namespaceId, resource.owner, resource.path]);
      if (action === "write") values.set(key, input ?? null);
      return Promise.resolve({
        status: "succeeded",
        operationId,
        completedAt: context.now,
        output: values.get(key) ?? null,
      });
    },
  };
}
