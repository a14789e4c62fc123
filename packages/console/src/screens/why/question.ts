import { instantOf } from "../../shared/instants.ts";
import { principalOf, resourceOf } from "../../shared/words.ts";

/** What is asked, as it is typed and as the address has it. */
export interface Question {
  actor: string;
  action: string;
  resource: string;
  purpose: string;
  authority: string;
  owner: string;
  /** The instant; now unless given. */
  at: string;
  /** A trace whose last denial is asked about; then of the others only the actor counts. */
  traceId: string;
}

const names = ["actor", "action", "resource", "purpose", "authority", "owner", "at", "traceId"] as const;

export function questionIn(query: URLSearchParams): Question {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? ""])) as unknown as Question;
}

/** What to send for a question, or what it still lacks. */
export type Asked =
  | { route: "explain" | "explainDenial"; input: Record<string, unknown> }
  | { route: undefined; problems: Readonly<Record<string, string>> };

const principalHint = "Write kind:id, such as agent:assistant.";

export function askedBy(question: Question, namespaceId: string): Asked {
  const problems: Record<string, string> = {};
  const principal = (name: "actor" | "authority" | "owner") => {
    const text = question[name].trim();
    if (text === "") return {};
    const found = principalOf(text);
    if (found === undefined) problems[name] = principalHint;
    return { [name]: found };
  };
  const traceId = question.traceId.trim();
  const actor = principal("actor");
  if (traceId !== "")
    return Object.keys(problems).length > 0
      ? { route: undefined, problems }
      : { route: "explainDenial", input: { namespaceId, traceId, ...actor } };
  const others = { ...principal("authority"), ...principal("owner") };
  const resource = resourceOf(question.resource);
  if (question.actor.trim() === "") problems["actor"] = principalHint;
  if (question.action.trim() === "") problems["action"] = "Write an action, such as read.";
  if (resource.namespace === "") problems["resource"] = "Write a namespace and a path, such as files/notes.";
  if (question.purpose.trim() === "") problems["purpose"] = "Write what it is for.";
  const at = question.at === "" ? {} : { at: instantOf(question.at) };
  if ("at" in at && at.at === undefined) problems["at"] = "Choose a date and a time.";
  if (Object.keys(problems).length > 0) return { route: undefined, problems };
  const act = { action: question.action.trim(), resource, purpose: question.purpose.trim() };
  return { route: "explain", input: { namespaceId, ...actor, ...others, ...act, ...at } };
}
