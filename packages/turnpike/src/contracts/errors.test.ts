import { shapeRows, testContract } from "../../test/contract-rows.ts";
import { errorObject, requestError } from "../../test/valid-objects.ts";
import { ErrorObjectSchema, RequestErrorSchema } from "./errors.ts";

testContract("an error object", ErrorObjectSchema, [
  ...shapeRows(errorObject, { required: ["code", "message"], optional: ["details", "retryable"] }),
  { name: "with an unknown code", value: { ...errorObject, code: "Acme: closed" } },
  { name: "with an empty code", value: { ...errorObject, code: "" }, refusedAt: "/code" },
  { name: "with a code of 257 characters", value: { ...errorObject, code: "a".repeat(257) }, refusedAt: "/code" },
  { name: "with a message of 1 character", value: { ...errorObject, message: "a" } },
  { name: "with a message of 4096 characters", value: { ...errorObject, message: "a".repeat(4096) } },
  { name: "with a message of 0 characters", value: { ...errorObject, message: "" }, refusedAt: "/message" },
  {
    name: "with a message of 4097 characters",
    value: { ...errorObject, message: "a".repeat(4097) },
    refusedAt: "/message",
  },
  { name: "whose details are a list", value: { ...errorObject, details: [] }, refusedAt: "/details" },
  { name: "whose retryable is a string", value: { ...errorObject, retryable: "no" }, refusedAt: "/retryable" },
]);

const { error } = requestError;

testContract("the body of a request-level error", RequestErrorSchema, [
  ...shapeRows(requestError, { required: ["error"] }),
  { name: "with an unknown code", value: { error: { ...error, code: "acme.closed" } } },
  { name: "with details", value: { error: { ...error, details: {} } } },
  { name: "whose details are a list", value: { error: { ...error, details: [] } }, refusedAt: "/error/details" },
  { name: "with something else", value: { error: { ...error, grants: {} } }, refusedAt: "/error/grants" },
  { name: "without a request id", value: { error: { code: "c", message: "m" } }, refusedAt: "/error/requestId" },
]);
