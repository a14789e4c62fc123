import { shapeRows, testContract } from "../../test/contract-rows.ts";
import * as valid from "../../test/valid-objects.ts";
import { MessageEnvelopeSchema, MessageResultSchema, ProvenanceSchema } from "./message.ts";

const envelope = valid.messageEnvelope;

testContract("a provenance", ProvenanceSchema, [
  ...shapeRows(valid.provenance, { required: ["source", "parentIds"], optional: ["metadata"] }),
  { name: "without any parent", value: { source: "inbox", parentIds: [] } },
  { name: "with an empty parent id", value: { source: "inbox", parentIds: [""] }, refusedAt: "/parentIds/0" },
]);

testContract("a message envelope", MessageEnvelopeSchema, [
  ...shapeRows(envelope, {
    required: ["version", "id", "createdAt", "traceId", "purpose", "sender", "receiver", "payload"],
    optional: ["replyTo", "provenance"],
  }),
  { name: `of version "1"`, value: { ...envelope, version: "1" } },
  { name: "of version 2", value: { ...envelope, version: 2 }, refusedAt: "/version" },
  { name: `of version "2"`, value: { ...envelope, version: "2" }, refusedAt: "/version" },
  { name: "with null for a payload", value: { ...envelope, payload: null } },
  { name: "with false for a payload", value: { ...envelope, payload: false } },
  { name: "with a payload that is no JSON", value: { ...envelope, payload: [1n] }, refusedAt: "/payload/0" },
  { name: "with spaces around its trace id", value: { ...envelope, traceId: " trace " } },
  { name: "with a trace id of spaces", value: { ...envelope, traceId: "  " }, refusedAt: "/traceId" },
  { name: "with a purpose of 512 characters", value: { ...envelope, purpose: "a".repeat(512) } },
  { name: "with a purpose of 513 characters", value: { ...envelope, purpose: "a".repeat(513) }, refusedAt: "/purpose" },
  { name: "whose sender is a name", value: { ...envelope, sender: "alice" }, refusedAt: "/sender" },
  { name: "that brings a context", value: { ...envelope, context: valid.accessContext }, refusedAt: "/context" },
  { name: "that brings grants", value: { ...envelope, grants: [valid.grant] }, refusedAt: "/grants" },
]);

const common = ["status", "messageId", "timestamp"];

testContract("a message result", MessageResultSchema, [
  { name: "that succeeded", value: { ...valid.messageResults.delivered, status: "succeeded" }, refusedAt: "/status" },
]);
for (const status of ["accepted", "delivered"] as const) {
  testContract(`a message that was ${status}`, MessageResultSchema, [
    ...shapeRows(valid.messageResults[status], { required: common, optional: ["metadata"] }),
    {
      name: "with an error",
      value: { ...valid.messageResults[status], error: valid.errorObject },
      refusedAt: "/error",
    },
  ]);
}
for (const status of ["denied", "failed"] as const) {
  testContract(
    `a message that was ${status}`,
    MessageResultSchema,
    shapeRows(valid.messageResults[status], { required: [...common, "error"], optional: ["metadata"] }),
  );
}
