// Cedar, as its authors publish it. Plain JavaScript that is run where it is, because the package is installed beside it and
// nowhere else.
import { setFlagsFromString } from "node:v8";
import cedar from "@cedar-policy/cedar-wasm/nodejs";

// Optimized code that calls WebAssembly ends a process of Node 20 ("unreachable code") when it has to be given up in such a call.
setFlagsFromString("--no-turbo-inline-js-wasm-calls");

/** The policies, by their names, as a function that decides one question by them. */
export function openCedar(policies) {
  const id = "world";
  const parsed = cedar.preparsePolicySet(id, { staticPolicies: policies });
  if (parsed.type !== "success") throw new Error(`Cedar does not read a policy: ${JSON.stringify(parsed.errors)}`);
  return (question) => {
    const answer = cedar.statefulIsAuthorized({ ...question, preparsedPolicySetId: id });
    const errors = answer.type === "success" ? answer.response.diagnostics.errors : answer.errors;
    // A policy that cannot be evaluated counts for nothing in Cedar. Here it would hide what it should have decided.
    if (answer.type !== "success" || errors.length > 0)
      throw new Error(`Cedar cannot decide: ${JSON.stringify(errors)}`);
    const { decision, diagnostics } = answer.response;
    return { allowed: decision === "allow", reasons: diagnostics.reason };
  };
}

/**
 * What `grant export --cedar` writes: what the strict validation of Cedar says against it, and a function that decides one question
 * by it.
 */
export function openExport(policies, schema) {
  const id = "export";
  const parsed = cedar.preparsePolicySet(id, { staticPolicies: policies });
  if (parsed.type !== "success")
    return { problems: [`Cedar does not read it: ${JSON.stringify(parsed.errors)}`], decide: () => false };
  const checked = cedar.validate({
    validationSettings: { mode: "strict" },
    schema,
    policies: { staticPolicies: policies },
  });
  const problems = checked.type === "success" ? checked.validationErrors : checked.errors;
  return {
    problems: problems.map((problem) => JSON.stringify(problem)),
    decide(question) {
      const answer = cedar.statefulIsAuthorized({ ...question, preparsedPolicySetId: id });
      const errors = answer.type === "success" ? answer.response.diagnostics.errors : answer.errors;
      if (errors.length > 0) throw new Error(`Cedar cannot decide: ${JSON.stringify(errors)}`);
      return answer.response.decision === "allow";
    },
  };
}

/** Decides one question that has to fit the schema: the request, its context and its entities. */
export function decideBySchema(policies, schema, question) {
  const answer = cedar.isAuthorized({
    ...question,
    policies: { staticPolicies: policies },
    schema,
    validateRequest: true,
  });
  if (answer.type !== "success") throw new Error(answer.errors.map(({ message }) => message).join("; "));
  return answer.response.decision === "allow";
}
