/** What the protocols of model providers have in common, as far as a server needs them. */

/** One call in a reply; arguments that are a text are sent as they are, even when they are no JSON. */
export interface SpokenCall {
  id?: string;
  name: string;
  arguments?: unknown;
}

/** A piece of text, or something to wait for before the next. */
type Piece = string | (() => Promise<unknown>);

/** What a model says. */
export interface Speech {
  text?: readonly Piece[];
  calls?: readonly SpokenCall[];
  finish?: "length" | "refused" | "unknown" | "paused";
  /** What it cost besides the usual, or instead of 5 tokens of output; `null` is a provider that does not say. */
  usage?: { cached?: number; reasoning?: number; output?: number } | null;
}

/** A request in words that fit all protocols. */
export interface Understood {
  model: unknown;
  instructions: string;
  tools: { name: string; description: unknown; schema: unknown }[];
  messages: Message[];
  /** Everything about it that its provider would refuse. */
  problems: string[];
}

export interface Message {
  role: string;
  text: string;
  calls?: { id: string; name: string; arguments: unknown }[];
  results?: { id: string; content: unknown; isError?: boolean }[];
}

/** What differs between providers. */
export interface Protocol {
  /** The path below the base URL, of this model. */
  path(model: string): string;
  keyOf(headers: Record<string, unknown>): unknown;
  understand(body: Json, path: string): Understood;
  /** The events of a reply, in order; a function is something to wait for. */
  render(speech: Speech, model: unknown): (string | (() => Promise<unknown>))[];
  /** An event that reports an error in the middle of a stream. */
  renderError(kind: string): string;
  errorBody(status: number, words: string): string;
}

export type Json = Record<string, unknown>;

export const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const nameRule = /^[a-zA-Z0-9_-]{1,64}$/;

/** Rules that all have: names, schemas, and an answer to every call right after it. */
export function commonProblems({ model, tools, messages }: Omit<Understood, "problems">): string[] {
  const problems: string[] = [];
  if (typeof model !== "string" || model === "") problems.push("no model");
  if (new Set(tools.map(({ name }) => name)).size !== tools.length) problems.push("two tools of one name");
  for (const { name, schema } of tools) {
    if (!nameRule.test(name)) problems.push(`tool name ${name}`);
    if (!isObject(schema)) problems.push(`no schema of ${name}`);
  }
  for (const [place, { role, calls = [], results = [] }] of messages.entries()) {
    const ids = calls.map(({ id }) => id);
    if (new Set(ids).size !== ids.length) problems.push("a call id twice in a message");
    for (const { name, arguments: args } of calls) {
      if (!nameRule.test(name)) problems.push(`call name ${name}`);
      if (!isObject(args)) problems.push("arguments that are no object");
    }
    const before = messages[place - 1]?.calls ?? [];
    const answered = results.map(({ id }) => id);
    if (role === "results" && answered.join() !== before.map(({ id }) => id).join())
      problems.push("results that answer other calls");
    if (ids.length > 0 && messages[place + 1]?.role !== "results") problems.push("a call without a result");
  }
  return problems;
}

export function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text)) as unknown;
  } catch {
    return undefined;
  }
}

export function argumentText({ arguments: args = {} }: SpokenCall): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** Text in two halves, so that nothing arrives at once. */
export function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== "");
}
