import { describeIssues, type JsonValue, type ResourceOperation, type ResourceResult } from "turnpike/contracts";
import { ToolError, type ResourceProvider } from "turnpike/kernel";
import { z } from "zod";
import { openCall, targetPaths, type FileServices } from "./file-action.ts";
import { fileActions } from "./file-actions.ts";

/** Each action with the schema of what it takes from an operation. */
const byName = new Map(
  fileActions.map((action) => {
    const taken = z.object({ resource: z.object({ path: targetPaths[action.target] }), input: action.input });
    return [action.action, { ...action, taken }];
  }),
);

/** The actions on files as the resource namespace `files`. */
export function fileProvider(services: FileServices): ResourceProvider {
  return {
    namespace: "files",
    async invoke(operation, signal) {
      const action = byName.get(operation.action);
      if (action === undefined) return failed(operation, "invalid_request", `/action: expected ${namesOfActions()}`);
      const { resource, input = {}, context } = operation;
      const taken = action.taken.safeParse({ resource, input });
      if (!taken.success) return failed(operation, "invalid_request", describeIssues(taken.error.issues));
      const { path } = taken.data.resource;
      try {
        const call = openCall(services, operation, { action: operation.action, path, run: { context, signal } });
        const output = (await action.run(call, taken.data.input)) as JsonValue;
        return { status: "succeeded", ...aboutOf(operation), output };
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
        return failed(operation, error.code, error.message);
      }
    },
  };
}

function namesOfActions(): string {
  return [...byName.keys()].map((name) => JSON.stringify(name)).join(" or ");
}

function aboutOf({ operationId }: ResourceOperation): { operationId: string; completedAt: string } {
  return { operationId, completedAt: new Date().toISOString() };
}

function failed(operation: ResourceOperation, code: string, message: string): ResourceResult {
  return { status: "failed", ...aboutOf(operation), error: { code, message } };
}
