import type { ErrorCode, JsonObject, RouteName } from "turnpike/contracts";
import { replayErrors } from "../../ledger/index.ts";
import { refTo, type DescribedOperation, type WaysIn } from "./openapi-access.ts";

/** The parts of the service's own description that are completed here. */
interface ServiceDescription {
  paths: Record<string, Record<string, DescribedOperation & { operationId: string; security?: JsonObject[] }>>;
  components: { responses: Record<string, { "x-error-codes": ErrorCode[] }> };
}

/** What the layers that the host puts around the service add to what its operations are refused with. */
const errorsOfLayers: Partial<Record<RouteName, readonly ErrorCode[]>> = {
  invokeTool: replayErrors,
  invokeResource: replayErrors,
  sendMessage: replayErrors,
  executeTurn: ["sender_not_allowed", "overloaded"],
};

/** The operations whose results are kept, so that a request that comes again is answered with what became of the first. */
const kept: ReadonlySet<string> = new Set(["invokeTool", "invokeResource", "sendMessage"]);

/** The paths of the service, as the host answers them. */
export function servicePaths({ paths, components }: ServiceDescription, ways: WaysIn): Record<string, JsonObject> {
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
          answers.map(([status, answer]) => [status, kept.has(operationId) ? replayable(answer) : answer]),
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

function replayable(answer: JsonObject[string]): JsonObject {
  const { headers, ...rest } = answer as JsonObject & { headers: JsonObject };
  return { ...rest, headers: { ...headers, "idempotency-replayed": refTo("headers", "IdempotencyReplayed") } };
}
