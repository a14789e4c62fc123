export {
  accept,
  check,
  checkJson,
  checkJsonObject,
  copyOf,
  deepFreeze,
  extend,
  isAccepted,
  markAccepted,
  originOf,
  type Accepted,
} from "./accept.ts";
export { boundedArray, strictObject, withFastPath } from "./bounded.ts";
export { canonicalJson } from "./canonical-json.ts";
export { openDeadline, orAbort, TimeLimitError, withinTime, type Deadline } from "./deadline.ts";
export { describeExpectation, describeIssues } from "./describe-issues.ts";
export { fromHeaderValue, toHeaderValue } from "./header-value.ts";
export { currentTimestamp, parseInstant, timestampOf } from "./instant.ts";
export { jsonSchemaOf, jsonSchemasOf, nameVariants } from "./json-schema.ts";
export { fitsInBytes } from "./json-size.ts";
export { readJson, type JsonObject, type JsonValue } from "./json.ts";
export { KnownAnswers } from "./known-answers.ts";
export { quietly } from "./quietly.ts";
export { findChangedNumber, readJsonText, type JsonTextReading, type UnreadableJson } from "./read-json-text.ts";
export { ReturnOverride } from "./return-override.ts";
export { sha256 } from "./sha256.ts";
export { isNeverAborted, neverAborted, ownSignal, type LazySignal } from "./signals.ts";
