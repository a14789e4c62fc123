import { shapeRows, testContract } from "../../test/contract-rows.ts";
import * as valid from "../../test/valid-objects.ts";
import {
  ToolAnnotationsSchema,
  ToolCallSchema,
  ToolCatalogSchema,
  ToolDescriptorSchema,
  ToolResultSchema,
} from "./tool.ts";

const tool = valid.toolDescriptor;

testContract("a set of annotations", ToolAnnotationsSchema, [
  ...shapeRows(valid.toolAnnotations, { required: [], optional: ["readOnly", "destructive", "idempotent"] }),
  { name: "that is empty", value: {} },
  { name: "with a string for a boolean", value: { readOnly: "yes" }, refusedAt: "/readOnly" },
]);

testContract("a tool descriptor", ToolDescriptorSchema, [
  ...shapeRows(tool, {
    required: ["name", "description", "namespace", "source", "readWrite", "inputSchema", "requiredCapability"],
    optional: ["outputSchema", "annotations", "metadata"],
  }),
  { name: "with a description of 1 character", value: { ...tool, description: "a" } },
  { name: "with a description of 8192 characters", value: { ...tool, description: "a".repeat(8192) } },
  { name: "with a description of 0 characters", value: { ...tool, description: "" }, refusedAt: "/description" },
  {
    name: "with a description of 8193 characters",
    value: { ...tool, description: "a".repeat(8193) },
    refusedAt: "/description",
  },
  { name: "whose input schema is a boolean", value: { ...tool, inputSchema: true }, refusedAt: "/inputSchema" },
  { name: "that neither reads nor writes", value: { ...tool, readWrite: "none" }, refusedAt: "/readWrite" },
  {
    name: "that requires a capability with a scope",
    value: { ...tool, requiredCapability: { ...tool.requiredCapability, scope: "exact" } },
    refusedAt: "/requiredCapability/scope",
  },
  { name: "that reads and is readOnly", value: { ...tool, readWrite: "read", annotations: { readOnly: true } } },
  { name: "that reads and is not readOnly", value: { ...tool, readWrite: "read", annotations: { readOnly: false } } },
  {
    name: "that reads and is destructive",
    value: { ...tool, readWrite: "read", annotations: { destructive: true } },
    refusedAt: "/annotations/destructive",
  },
  {
    name: "that writes and is destructive",
    value: { ...tool, readWrite: "write", annotations: { destructive: true } },
  },
  { name: "that writes and is not readOnly", value: { ...tool, readWrite: "write", annotations: { readOnly: false } } },
  {
    name: "that writes and is readOnly",
    value: { ...tool, readWrite: "write", annotations: { readOnly: true } },
    refusedAt: "/annotations/readOnly",
  },
]);

/** Descriptors named `tool-000`, `tool-001` and so on. */
function toolsNamed(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({ ...tool, name: `tool-${String(index).padStart(3, "0")}` }));
}

testContract("a tool catalog", ToolCatalogSchema, [
  { name: "of 0 tools", value: [] },
  { name: "of 512 tools", value: toolsNamed(512) },
  { name: "of 513 tools", value: toolsNamed(513), refusedAt: "" },
  {
    name: "in the order of code units",
    value: [
      { ...tool, name: "B" },
      { ...tool, name: "a" },
    ],
  },
  {
    name: "in the order of a dictionary",
    value: [
      { ...tool, name: "a" },
      { ...tool, name: "B" },
    ],
    refusedAt: "",
  },
  { name: "with a name twice", value: [tool, tool], refusedAt: "" },
  { name: "with a bad tool", value: [tool, { ...tool, name: "z", source: "" }], refusedAt: "/1/source" },
  { name: "that is an object", value: { tools: [tool] }, refusedAt: "" },
]);

testContract("a tool call", ToolCallSchema, [
  ...shapeRows(valid.toolCall, { required: ["id", "tool", "arguments", "requestedAt", "traceId"] }),
  { name: "without any argument", value: { ...valid.toolCall, arguments: {} } },
  { name: "whose arguments are a list", value: { ...valid.toolCall, arguments: [] }, refusedAt: "/arguments" },
  { name: "whose arguments are null", value: { ...valid.toolCall, arguments: null }, refusedAt: "/arguments" },
  { name: "whose arguments are a string", value: { ...valid.toolCall, arguments: "{}" }, refusedAt: "/arguments" },
  {
    name: "with __proto__ deep in its arguments",
    value: { ...valid.toolCall, arguments: JSON.parse(`{"a":[{"__proto__":{}}]}`) },
    refusedAt: "/arguments/a/0",
  },
  { name: "that brings a context", value: { ...valid.toolCall, context: valid.accessContext }, refusedAt: "/context" },
  { name: "that brings tools", value: { ...valid.toolCall, tools: [tool] }, refusedAt: "/tools" },
  { name: "that brings grants", value: { ...valid.toolCall, grants: [valid.grant] }, refusedAt: "/grants" },
]);

const common = ["status", "callId", "tool", "completedAt"];

testContract("a tool result", ToolResultSchema, [
  { name: "with null for an output", value: { ...valid.toolResults.succeeded, output: null } },
  { name: "that is cancelled", value: { ...valid.toolResults.failed, status: "cancelled" }, refusedAt: "/status" },
  {
    name: "that succeeded with an error",
    value: { ...valid.toolResults.succeeded, error: valid.errorObject },
    refusedAt: "/error",
  },
  { name: "that failed with an output", value: { ...valid.toolResults.failed, output: 1 }, refusedAt: "/output" },
]);
testContract(
  "a succeeded tool result",
  ToolResultSchema,
  shapeRows(valid.toolResults.succeeded, { required: [...common, "output"], optional: ["metadata"] }),
);
for (const status of ["denied", "failed"] as const) {
  testContract(
    `a ${status} tool result`,
    ToolResultSchema,
    shapeRows(valid.toolResults[status], { required: [...common, "error"], optional: ["metadata"] }),
  );
}
