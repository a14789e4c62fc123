import type { ErrorCode, JsonObject, RouteName } from "turnpike/contracts";
import { replayErrors } from "../../ledger/index.ts";
import { refTo, type DescribedOperation, type AccessSchemes } from "./openapi-access.ts";

/** The parts of the service's own description that are completed here. */
interface ServiceDescription {
  paths: Record<string, Record<string, DescribedOperation & { operationId: string; security?: JsonObject[] }>>;
  components: { responses: Record<string, { "x-error-codes": ErrorCode[] }> };
}

/** The errors that the host's layers around the service add to those of its operations. */
const errorsOfLayers: Partial<Record<RouteName, readonly ErrorCode[]>> = {
  invokeTool: [...replayErrors, "database_went_back"],
  invokeResource: [...replayErrors, "database_went_back"],
  sendMessage: [...replayErrors, "database_went_back"],
  beginAct: ["replay_unavailable", "overloaded", "database_went_back"],
  finishAct: ["replay_unavailable", "overloaded", "database_went_back"],
  getAct: ["replay_unavailable"],
  executeTurn: ["sender_not_allowed", "overloaded", "database_went_back"],
};

/** The headers that the layers add to an answer. Results of some operations are stored for requests that are repeated. */
const replayed = { "idempotency-replayed": refTo("headers", "IdempotencyReplayed") };
const headersOfLayers: Partial<Record<RouteName, JsonObject>> = {
  invokeTool: replayed,
  invokeResource: replayed,
  sendMessage: replayed,
  listTools: { "x-tools-unavailable": refTo("headers", "ToolsUnavailable") },
};

/** The paths of the service, as the host answers them. */
export function servicePaths(
  { paths, components }: ServiceDescription,
  ways: AccessSchemes,
): Record<string, JsonObject> {
  const complete = (operation: ServiceDescription["paths"][string][string]): JsonObject => {
    const { operationId, security, responses } = operation;
    const codes = Object.values(responses).flatMap((response) => {
      const { $ref = "" } = response as { $ref?: string };
      return components.responses[$ref.split("/").at(-1) ?? ""]?.["x-error-codes"] ?? [];
    });
    const answers = Object.entries(responses).filter(([, response]) => !("$ref" in (response as JsonObject)));
    return ways.describe(
      security?.length === 0 ? "open" : "context",
      {
        ...operation,
        responses: Object.fromEntries(
          answers.map(([status, answer]) => [status, withHeaders(answer, headersOfLayers[operationId as RouteName])]),
        ),
      },
      [...codes, ...(errorsOfLayers[operationId as RouteName] ?? [])],
    );
  };
  return Object.fromEntries(
    Object.entries(paths).map(([path, verbs]) => [
      path,
      Object.fromEntries(Object.entries(verbs).map(([verb, operation]) => [verb, complete(operation)])),
    ]),
  );
}

function withHeaders(answer: JsonObject[string], added: JsonObject = {}): JsonObject {
  const { headers, ...rest } = answer as JsonObject & { headers: JsonObject };
  return { ...rest, headers: { ...headers, ...added } };
}
