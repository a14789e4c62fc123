import { shapeRows, testContract } from "../../test/contract-rows.ts";
import * as valid from "../../test/valid-objects.ts";
import { ActOutcomeSchema, ActRequestSchema, ActStateSchema } from "./act-request.ts";

const { act, actOutcome, actFailure } = valid;
const [need] = act.needs;

testContract("an act", ActRequestSchema, [
  ...shapeRows(act, {
    required: ["version", "id", "tool", "needs", "requestedAt", "traceId"],
    optional: ["arguments", "write", "spends", "executionId", "leaseSeconds", "dryRun"],
  }),
  { name: "that needs nothing", value: { ...act, needs: [] }, refusedAt: "/needs" },
  { name: "that needs 64 things", value: { ...act, needs: Array.from({ length: 64 }, () => need) } },
  { name: "that needs 65", value: { ...act, needs: Array.from({ length: 65 }, () => need) }, refusedAt: "/needs" },
  {
    name: "whose need has no action",
    value: { ...act, needs: [{ ...need, action: "" }] },
    refusedAt: "/needs/0/action",
  },
  { name: "whose arguments are a list", value: { ...act, arguments: [1, null] } },
  { name: "that is a dry run and a shadow", value: { ...act, shadow: true }, refusedAt: "/shadow" },
  { name: "of a lease of 1 second", value: { ...act, leaseSeconds: 1 } },
  { name: "of a lease of 86400 seconds", value: { ...act, leaseSeconds: 86_400 } },
  { name: "of a lease of 0 seconds", value: { ...act, leaseSeconds: 0 }, refusedAt: "/leaseSeconds" },
  { name: "of a lease of 86401 seconds", value: { ...act, leaseSeconds: 86_401 }, refusedAt: "/leaseSeconds" },
  { name: "that says dryRun: false", value: { ...act, dryRun: false }, refusedAt: "/dryRun" },
  ...amountRows((amount) => ({ ...act, spends: [amount] }), "/spends/0"),
]);

function amountRows(within: (amount: object) => object, place: string) {
  const row = (name: string, amount: object, refusedAt?: string) => ({
    name,
    value: within(amount),
    ...(refusedAt !== undefined && { refusedAt: `${place}/${refusedAt}` }),
  });
  return [
    row("of a fraction of a number", { unit: "EUR", amount: 0.1 }),
    row("of an amount as text", { unit: "EUR", amount: "123456789012.123456" }),
    row("of no amount at all", { unit: "EUR", amount: 0 }),
    row("of an amount that no decimal says", { unit: "EUR", amount: 0.300_000_000_000_000_04 }, "amount"),
    row("of an amount that is too large", { unit: "EUR", amount: 1e21 }, "amount"),
    row("of a negative amount", { unit: "EUR", amount: "-1" }, "amount"),
    row("of a unit with a space", { unit: "E R", amount: 1 }, "unit"),
    row("of a unit of 17 characters", { unit: "a".repeat(17), amount: 1 }, "unit"),
  ];
}

testContract("an outcome", ActOutcomeSchema, [
  ...shapeRows(actOutcome, {
    required: ["version", "status"],
    optional: ["executionId", "output", "spent", "labels"],
  }).filter(({ name }) => name !== "without executionId"),
  { name: "of a failure", value: actFailure },
  { name: "that names its trace", value: { version: 1, status: "succeeded", traceId: "trace-1" } },
  { name: "that names neither trace nor execution", value: { version: 1, status: "succeeded" }, refusedAt: "/traceId" },
  { name: "of a success with an error", value: { ...actOutcome, error: actFailure.error }, refusedAt: "/error" },
  { name: "of a failure with an output", value: { ...actFailure, output: 1 }, refusedAt: "/output" },
  {
    name: "of nothing that happened: false",
    value: { ...actFailure, error: { ...actFailure.error, nothingHappened: false } },
    refusedAt: "/error/nothingHappened",
  },
]);

testContract("the state of an act", ActStateSchema, [
  { name: "that is allowed", value: { status: "allowed", id: "act-1", expiresAt: act.requestedAt, grants: ["g"] } },
  { name: "that only shadows", value: { status: "allowed", id: "act-1", grants: [], shadow: { status: "denied" } } },
  { name: "that is denied", value: { status: "denied", id: "act-1", error: valid.errorObject } },
  { name: "that is denied without an error", value: { status: "denied", id: "act-1" }, refusedAt: "/error" },
  { name: "that waits, and no one was asked", value: { status: "waiting", id: "act-1" } },
  {
    name: "that succeeded late",
    value: { status: "succeeded", id: "act-1", completedAt: act.requestedAt, late: true },
  },
  { name: "that was interrupted", value: { status: "interrupted", id: "act-1", expiresAt: act.requestedAt } },
  { name: "that is lost", value: { status: "lost", id: "act-1" }, refusedAt: "/status" },
]);
