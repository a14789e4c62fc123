import {
  ArgumentRuleSchema,
  writeArgument,
  type ArgumentRule,
  type JsonObject,
  type ToolDescriptor,
} from "turnpike/contracts";
import { argumentsOf, type SchemaArgument } from "./schema-arguments.ts";

/** Rules to begin with. */
export interface Suggestion {
  rules: Record<string, ArgumentRule>;
  /** Tools without an argument that looks like a target. */
  without: string[];
}

/** Common labels for arguments with the same meaning, so that one grant is enough for an address. */
const labels: readonly (readonly [label: string, words: readonly string[]])[] = [
  ["to", "to cc bcc recipient recipients receiver receivers payee beneficiary".split(" ")],
  ["with", "participant participants attendee attendees invitee invitees guest guests".split(" ")],
];

/** Last words of names of files and addresses. A grant may cover a folder and what is below it. */
const places = new Set([
  ..."path paths file files filename filenames folder folders directory directories dir".split(" "),
  ..."url urls uri uris link links href site sites website websites webpage page pages feed endpoint webhook".split(
    " ",
  ),
]);

/** Last words of names that say at whom or at what a call is aimed. */
const targets = new Set([
  ...labels.flatMap(([, words]) => words),
  ..."address addresses email emails mail iban account accounts card phone contact contacts customer".split(" "),
  ..."user users username usernames member members assignee assignees owner org organization team group".split(" "),
  ..."repo repos repository repositories branch project workspace channel channels room chat thread".split(" "),
  ..."bucket database table host hostname domain id ids target destination source sources src".split(" "),
  ...places,
]);

/** Last words that are ignored, so that the word before them counts: `channel_name`, `account_number`. */
const suffixes = new Set("name names number numbers list key handle".split(" "));

const formats = new Set("email idn-email uri url uri-reference iri hostname idn-hostname ipv4 ipv6".split(" "));
const described =
  /\b(?:e-?mail address|recipient|attendee|participant|iban|bank account|phone number|file path|urls?\b|web ?(?:page|site|address))/i;
const addressFormats = new Set("uri url iri".split(" "));

const maxPaths = 16;

/** Rules for tools by the names, formats and descriptions of their arguments. They are a first draft for an operator to edit. */
export function suggestRules(tools: readonly ToolDescriptor[]): Suggestion {
  const suggestion: Suggestion = { rules: {}, without: [] };
  for (const { name, namespace, inputSchema } of tools) {
    const tool = name.slice(namespace.length + 1);
    const rule = ruleFor(inputSchema);
    if (rule === undefined) suggestion.without.push(tool);
    else suggestion.rules[tool] = rule;
  }
  return suggestion;
}

function ruleFor(schema: JsonObject): ArgumentRule | undefined {
  const paths = pathsFor(argumentsOf(schema).filter(isTarget)).slice(0, maxPaths);
  const [path, ...others] = paths;
  if (path === undefined) return undefined;
  const rule = ArgumentRuleSchema.safeParse(others.length === 0 ? { path } : { paths });
  return rule.success ? rule.data : undefined;
}

/** A path for each argument; one for a repository and its owner together. */
function pathsFor(args: readonly SchemaArgument[]): string[][] {
  const named = (...names: string[]): SchemaArgument | undefined =>
    args.find(({ keys, isRequired }) => isRequired && keys.length === 1 && names.includes(keys[0] ?? ""));
  const [owner, repo] = [named("owner", "org"), named("repo", "repository")];
  if (owner === undefined || repo === undefined) return args.map(pathFor);
  const rest = args.filter((one) => one !== owner && one !== repo);
  return [["repos", writeArgument(owner.keys, false), writeArgument(repo.keys, false)], ...rest.map(pathFor)];
}

function pathFor({ keys, isRequired, schemas }: SchemaArgument): string[] {
  const words = new Set(keys.flatMap(wordsOf));
  const own = wordsOf(keys.at(-1) ?? "").join("_") || "argument";
  const [label] = labels.find(([, meant]) => meant.some((word) => words.has(word))) ?? [own];
  const isPlace = places.has(lastWord(keys)) || schemas.some(({ format }) => addressFormats.has(String(format)));
  return [label, writeArgument(keys, !isRequired, isPlace)];
}

function isTarget({ keys, schemas }: SchemaArgument): boolean {
  return schemas.some(isBindable) && (targets.has(lastWord(keys)) || schemas.some(saysTarget));
}

/** The word of a name that says what it names: `channel` in `channel_name`. */
function lastWord(keys: readonly string[]): string {
  const words = wordsOf(keys.at(-1) ?? "");
  while (words.length > 1 && suffixes.has(words.at(-1) ?? "")) words.pop();
  return words.at(-1) ?? "";
}

/** Texts, whole numbers, and what has no type. What can only be one of a few values is no target. */
function isBindable({ type, enum: values, const: only, properties, items, ...parts }: JsonObject): boolean {
  if (values !== undefined || only !== undefined || properties !== undefined || items !== undefined) return false;
  if (["$ref", "anyOf", "oneOf", "allOf"].some((part) => part in parts)) return false;
  const types = Array.isArray(type) ? type : [type];
  return types.some((one) => one === undefined || one === "string" || one === "integer");
}

function saysTarget({ format, description }: JsonObject): boolean {
  return (
    (typeof format === "string" && formats.has(format)) ||
    (typeof description === "string" && described.test(description.slice(0, 1000)))
  );
}

/** `recipientIBAN`, `recipient_iban` and `recipient-iban` are the same words. */
function wordsOf(name: string): string[] {
  const spaced = name.replaceAll(/([a-z\d])(?=[A-Z])/g, "$1 ");
  return spaced.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];
}
