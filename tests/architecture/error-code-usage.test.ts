import { expect, test } from "vitest";
import { errorCodes } from "../../packages/turnpike/src/contracts/index.ts";
import { codeProblems, type KnownCodes, readSources } from "../support/code-literals.ts";
import { repository } from "../support/repository.ts";

/** Words written like codes that are none, each with its reason. */
const notCodes = {
  invalid_type: "an issue of zod",
  invalid_value: "an issue of zod",
  too_small: "an issue of zod",
  too_big: "an issue of zod",
  unrecognized_keys: "an issue of zod",
  invalid_union: "an issue of zod",
  min_length: "a check of zod",
  max_length: "a check of zod",
  credential_unknown: "why an approval does not count",
  credential_expired: "why an approval does not count",
  grant_revoked: "why an escalation is closed",
  grant_expired: "why an escalation is closed",
  turn_ended: "why an escalation is closed",
  not_a_reviewer: "why an approval does not count",
  takes_part: "why an approval does not count",
  tool_results: "what a driver is told",
  no_people: "why a user is not let in",
  no_operator: "why a user is not let in",
  no_subject: "why a user is not let in",
  no_tenant: "why a user is not let in",
  deleted_tenant: "why a user is not let in",
  preferred_username: "a claim of ID tokens",
  client_secret_basic: "how a client authenticates to its provider",
  client_secret_post: "how a client authenticates to its provider",
  client_id: "a parameter of OAuth",
  redirect_uri: "a parameter of OAuth",
  code_challenge: "a parameter of OAuth",
  code_challenge_method: "a parameter of OAuth",
  code_verifier: "a parameter of OAuth",
  invalid_grant: "an error of OAuth",
  invalid_client: "an error of OAuth",
  invalid_client_metadata: "an error of OAuth",
  invalid_redirect_uri: "an error of OAuth",
  invalid_target: "an error of OAuth",
  login_required: "an error of OAuth",
  unsupported_grant_type: "an error of OAuth",
  unsupported_response_type: "an error of OAuth",
  authorization_code: "what OAuth gives tokens for",
  refresh_token: "what OAuth gives tokens for",
  grant_type: "a parameter of OAuth",
  response_mode: "a parameter of OAuth",
  response_type: "a parameter of OAuth",
  offline_access: "a scope of OAuth",
  signed_in: "a parameter of the page of consent",
  temporarily_unavailable: "an error of OAuth",
  access_denied: "what a provider says of a sign-in",
  at_hash: "a claim of ID tokens",
  c_hash: "a claim of ID tokens",
  execute_tool: "what OpenTelemetry calls a tool call",
  invoke_agent: "what OpenTelemetry calls a turn",
  begin_act: "the name of a span",
  finish_act: "the name of a span",
  pause_turn: "how Anthropic says that a reply continues",
  execute_all: "a semantic of AuthZEN",
  deny_on_first_deny: "a semantic of AuthZEN",
  permit_on_first_permit: "a semantic of AuthZEN",
  invalid_usage: "a code of the command line, which no host answers with",
  invalid_config: "a code of the command line, which no host answers with",
  effect_failed: "a code of callers, for an effect of theirs that threw",
  gate_unavailable: "what a model is told where no gate answers",
  content_and_artifact: "how a tool of LangChain answers",
  hook_event_name: "a field of a coding agent's hook",
  turn_id: "a field of a coding agent's hook",
  is_interrupt: "a field of a coding agent's hook",
  file_path: "an argument of a coding agent's tool",
  notebook_path: "an argument of a coding agent's tool",
};

/** Codes that nothing produces yet. A room that arrives takes its codes away. */
const notBuiltYet: string[] = [];

test("the sources produce the codes of the table, and no other", { timeout: 90_000 }, () => {
  const known = {
    table: Object.keys(errorCodes),
    notCodes: Object.keys(notCodes),
    notBuiltYet,
  };
  expect(codeProblems(readSources(repository), known)).toEqual([]);
});

const nothingKnown: KnownCodes = { table: [], notCodes: [], notBuiltYet: [] };
const unknown = ["a.ts: not_known is not in the table"];
const notProduced = ["not_known is in the table, but nothing produces it"];

for (const { name, text, known = {}, problems } of [
  { name: "a code outside the table", text: `deny("not_known");`, problems: unknown },
  { name: "one in a template without substitutions", text: "deny(`not_known`);", problems: unknown },
  { name: "one as a case", text: `switch (code) { case "not_known": }`, problems: unknown },
  { name: "one as a default value", text: `const deny = (code = "not_known") => code;`, problems: unknown },
  { name: "a code in the table", text: `deny("not_known");`, known: { table: ["not_known"] }, problems: [] },
  { name: "a word that is excused", text: `deny("not_known");`, known: { notCodes: ["not_known"] }, problems: [] },
  { name: "the literal of a type", text: `type Code = "not_known" | \`not_so\`; let code: "not_known";`, problems: [] },
  { name: "a word, a name or a sentence", text: `deny("known", "notKnown", "not_known.", "NOT_KNOWN");`, problems: [] },
  { name: "a template with substitutions", text: "deny(`not_known${x}`);", problems: [] },
  { name: "a comment", text: `// deny("not_known")`, problems: [] },
  { name: "an identifier", text: `not_known();`, problems: [] },
  { name: "a code no one produces", text: "", known: { table: ["not_known"] }, problems: notProduced },
  {
    name: "a code that only a type names",
    text: `type Code = "not_known";`,
    known: { table: ["not_known"] },
    problems: notProduced,
  },
  { name: "a code of one word", text: `allow("allowed");`, known: { table: ["allowed"] }, problems: [] },
  {
    name: "a code of one word inside a sentence",
    text: `allow("is allowed");`,
    known: { table: ["allowed"] },
    problems: ["allowed is in the table, but nothing produces it"],
  },
  {
    name: "a code still to be built",
    text: "",
    known: { table: ["not_known"], notBuiltYet: ["not_known"] },
    problems: [],
  },
  {
    name: "a code that was built",
    text: `deny("not_known");`,
    known: { table: ["not_known"], notBuiltYet: ["not_known"] },
    problems: ["not_known is produced: it is built now"],
  },
  {
    name: "a code to be built that is not in the table",
    text: "",
    known: { notBuiltYet: ["not_known"] },
    problems: ["not_known is to be built, but not in the table"],
  },
  {
    name: "an excuse for nothing",
    text: "",
    known: { notCodes: ["not_known"] },
    problems: ["not_known is excused, but nowhere written"],
  },
]) {
  test(`${name} is ${problems.length === 0 ? "no problem" : "a problem"}`, () => {
    expect(codeProblems([{ file: "a.ts", text }], { ...nothingKnown, ...known })).toEqual(problems);
  });
}

test("the sources that are read are neither tests, nor descriptions of codes, nor SQL", () => {
  const files = readSources(repository).map(({ file }) => file);
  expect(files).toContain("packages/turnpike/src/contracts/reach.ts");
  expect(files.filter((file) => /\.test\.ts$|error-codes\.ts$|http\/openapi|host\/src\/storage/.test(file))).toEqual(
    [],
  );
});
