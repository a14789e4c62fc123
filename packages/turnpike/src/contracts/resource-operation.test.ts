import { shapeRows, testContract } from "../../test/contract-rows.ts";
import * as valid from "../../test/valid-objects.ts";
import { ResourceOperationRequestSchema, ResourceOperationSchema, ResourceResultSchema } from "./resource-operation.ts";

const request = valid.resourceOperationRequest;

testContract("a resource operation", ResourceOperationSchema, [
  ...shapeRows(valid.resourceOperation, {
    required: ["operationId", "action", "resource", "context"],
    optional: ["input", "metadata"],
  }),
  {
    name: "whose context is incomplete",
    value: { ...valid.resourceOperation, context: { ...valid.accessContext, purpose: "" } },
    refusedAt: "/context/purpose",
  },
]);

testContract("a resource operation request", ResourceOperationRequestSchema, [
  ...shapeRows(request, { required: ["operationId", "action", "resource"], optional: ["input", "metadata"] }),
  { name: "with null for input", value: { ...request, input: null } },
  { name: "with input that is no JSON", value: { ...request, input: { at: new Date(0) } }, refusedAt: "/input/at" },
  { name: "with an action of 129 characters", value: { ...request, action: "a".repeat(129) }, refusedAt: "/action" },
  { name: "that brings a context", value: valid.resourceOperation, refusedAt: "/context" },
  { name: "that brings tools", value: { ...request, tools: [] }, refusedAt: "/tools" },
  { name: "that brings grants", value: { ...request, grants: [valid.grant] }, refusedAt: "/grants" },
]);

const common = ["status", "operationId", "completedAt"];
const { succeeded, failed } = valid.resourceResults;

testContract("a resource result", ResourceResultSchema, [
  { name: "that is escalated", value: { ...succeeded, status: "escalated" }, refusedAt: "/status" },
  { name: "that succeeded with an error", value: { ...succeeded, error: valid.errorObject }, refusedAt: "/error" },
  { name: "that failed with an output", value: { ...failed, output: 1 }, refusedAt: "/output" },
]);
testContract(
  "a succeeded resource result",
  ResourceResultSchema,
  shapeRows(succeeded, { required: [...common, "output"], optional: ["metadata"] }),
);
for (const status of ["denied", "failed"] as const) {
  testContract(
    `a ${status} resource result`,
    ResourceResultSchema,
    shapeRows(valid.resourceResults[status], { required: [...common, "error"], optional: ["metadata"] }),
  );
}
