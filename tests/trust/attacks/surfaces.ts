import { exchange } from "../../../packages/host/test/raw-http.ts";
import { type Answer, ask, type Ask } from "../../../packages/host/test/host-calls.ts";
import { turn } from "../../support/host-world.ts";
import { commandWith } from "../../support/terminal.ts";
import type { Seen } from "./attack.ts";
import { alice, bob, type Caller, carol, done, fileBody, type Person, tokenOf, type World } from "./world.ts";

/** A request as a caller sends it: with the token of a person, or as it says. */
export interface Sent extends Ask {
  as?: Caller;
}

/** Sends a request over HTTP. */
export async function http(world: World, path: string, sent: Sent = {}): Promise<Seen> {
  return seen(await answerTo(world, path, sent));
}

/** The same, of which only the status counts. */
export async function statusOf(world: World, path: string, sent: Sent = {}): Promise<Seen> {
  const { status, text } = await answerTo(world, path, sent);
  return { says: `${status}`, text };
}

/** The same, for what is in the answer. */
export function answerTo(world: World, path: string, { as, headers, ...sent }: Sent): Promise<Answer> {
  const written = sent.body === undefined ? {} : { "content-type": "application/json" };
  return ask(world.url, path, {
    ...(as && { token: tokenOf(world, as) }),
    headers: { ...written, ...headers },
    ...sent,
  });
}

/** An answer in short: its status, and the code that it or the result in it has. */
export function seen({ status, text, body }: Answer): Seen {
  return { says: `${status} ${gistOf(body)}`.trim(), text };
}

interface Gist {
  error?: { code: string | number };
  status?: string;
  reasonCode?: string;
  decision?: boolean;
  result?: { isError?: boolean; _meta?: { "turnpike/error"?: { status: string; code: string } } };
}

function gistOf(body: unknown): string {
  if (typeof body !== "object" || body === null) return "";
  const { error, status, reasonCode, decision, result } = body as Gist;
  const { _meta: about } = result ?? {};
  const refusal = about?.["turnpike/error"];
  if (refusal !== undefined) return `${refusal.status} ${refusal.code}`;
  if (result?.isError === true) return "isError";
  return [
    typeof status === "string" ? status : "",
    error?.code ?? reasonCode ?? (typeof decision === "boolean" ? decision : ""),
  ]
    .join(" ")
    .trim();
}

/** Changes something, or reads it, as an operator. */
export function admin(world: World, path: string, body?: object, as: Person = "admin"): Promise<Seen> {
  return http(world, `/admin/v1/${path}`, { as, body });
}

/** The same, which has to be done. */
export async function change<Body>(world: World, path: string, body?: object): Promise<Body> {
  return (await done(answerTo(world, `/admin/v1/${path}`, { as: "admin", body }))).body as Body;
}

/** Makes a credential that no one is to see again. */
export async function makeCredential(world: World, body: object): Promise<{ id: string; token: string }> {
  const made = await change<{ id: string; token: string }>(world, "credentials", body);
  world.secrets.add(made.token);
  return made;
}

/** An operator of Acme whom no one else needs, and their token. */
export function newOperator(world: World): Promise<{ id: string; token: string }> {
  const rights = { purposes: ["operate"], admin: true, role: "admin", tenant: "acme" };
  return makeCredential(world, { namespaceId: "operators", access: { actor: carol, owner: carol, ...rights } });
}

/** Calls a tool. */
export function invoke(
  world: World,
  as: Caller,
  tool: string,
  args: object,
  more: Sent & { id?: string } = {},
): Promise<Seen> {
  const { id = world.fresh("call"), headers, ...sent } = more;
  const body = { id, tool, arguments: args, requestedAt: "2026-01-01T00:00:00Z", traceId: "t" };
  return http(world, "/v1/tools/invoke", { as, body, headers: { "x-trace-id": "t", ...headers }, ...sent });
}

/** Operates on a file. */
export function operate(
  world: World,
  as: Person,
  action: string,
  path: string,
  input?: object,
  headers = {},
): Promise<Seen> {
  return http(world, "/v1/resources/invoke", { as, headers, body: fileBody(world, action, path, input) });
}

/** Asks whether something may be done. */
export function authorize(world: World, as: Person, action: string, resource: object, headers = {}): Promise<Seen> {
  return http(world, "/v1/authorize", { as, headers, body: { action, resource } });
}

/** The envelope of a message to Bob from a caller. */
export function envelope(world: World, changes: object = {}): Record<string, unknown> {
  const written = { version: 1, id: world.fresh("message"), createdAt: "2026-01-01T00:00:00Z", traceId: "t" };
  return { ...written, purpose: "support", sender: alice, receiver: bob, payload: "Hello.", ...changes };
}

/** Sends a message. */
export function send(world: World, as: Person, changes: object): Promise<Seen> {
  return http(world, "/v1/messages", { as, headers: { "x-trace-id": "t" }, body: envelope(world, changes) });
}

/** How a turn differs; whatever has another name is put into its request. */
interface RunOptions extends Record<string, unknown> {
  id?: string;
  headers?: Readonly<Record<string, string>>;
}

/** Runs a turn of the assistant that does what the payload says, and shows how its calls ended. */
export async function run(
  world: World,
  as: Caller,
  payload: object,
  { id = world.fresh("turn"), headers, ...changes }: RunOptions = {},
): Promise<Seen> {
  const body = { ...turn(id, "t", payload), ...changes };
  const answer = await answerTo(world, "/v1/turns", { as, headers: { "x-trace-id": "t", ...headers }, body });
  const { output } = answer.body as { output?: unknown };
  const { says, text } = seen(answer);
  return { says: typeof output === "string" && output !== "" ? `${says}: ${output}` : says, text };
}

/** Calls a method of the host's MCP server. */
export function mcp(world: World, as: Person, method: string, params: object, sent: Sent = {}): Promise<Seen> {
  const { headers, ...rest } = sent;
  const about = { accept: "application/json, text/event-stream" };
  const body = { jsonrpc: "2.0", id: 1, method, params };
  return http(world, "/mcp", { as, headers: { ...about, ...headers }, body, read: readMessage, ...rest });
}

/** The answer to a call, which may come as the last event of a stream. */
async function readMessage(response: Response): Promise<string> {
  const text = await response.text();
  const events = text.split("\n").filter((line) => line.startsWith("data: "));
  return events.at(-1)?.slice("data: ".length) ?? text;
}

/** A stream, of the operators' events unless another is named, that is open until it is left. */
export async function openStream(world: World, as: Caller, path = "/admin/v1/events?namespaceId=acme") {
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${tokenOf(world, as)}`, accept: "text/event-stream" };
  const response = await fetch(`${world.url}${path}`, { headers, signal: leaving.signal });
  const text = response.ok ? "" : await response.text();
  const { error } = JSON.parse(text || "{}") as { error?: { code: string } };
  return { says: `${response.status} ${error?.code ?? ""}`.trim(), text, leave: () => leaving.abort() };
}

/** Sends bytes as they are, and `AUTH` is replaced by the header of the assistant's credential. */
export async function raw({ url, tokens }: World, bytes: string): Promise<Seen> {
  const filled = bytes.replaceAll("AUTH", `Authorization: Bearer ${tokens.assistant}\r\n`);
  const { text, statuses } = await exchange(url, { send: filled });
  const codes = [...text.matchAll(/"error":\{"code":"(\w+)"/g)].map(([, code]) => code);
  return { says: statuses.map((status, place) => `${status} ${codes[place] ?? ""}`.trim()).join(", "), text };
}

/** Types a command, as the bearer of a token or as the operator. */
export async function cli(
  { folder, url }: Pick<World, "folder" | "url">,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Seen> {
  return typed(folder, [...args, "--url", url], env);
}

/** Types a command in a folder. */
export async function typed(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Seen> {
  const { code, stdout, stderr } = await commandWith(folder, args, env);
  const [, refusal = ""] = /"code": ?"(\w+)"/.exec(stderr) ?? [];
  return { says: `exit ${code} ${refusal}`.trim(), text: stdout + stderr };
}
