import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { connectSqlite } from "../../../packages/host/test/databases.ts";
import { ask, type Answer } from "../../../packages/host/test/host-calls.ts";
import { type RecordingLog, recordingLog } from "../../../packages/host/test/recording-log.ts";
import { alice, assistant } from "../../../packages/host/test/records.ts";
import { type Host, startHost } from "../../../packages/host/src/compose/compose.ts";
import { loadConfig } from "../../../packages/host/src/compose/config.ts";
import { defineTool, type ToolHandler } from "../../../packages/turnpike/src/kernel/index.ts";
import { makeFolder } from "../../support/host-process.ts";
import { obedientRuntime } from "./runtime.ts";

export { alice, assistant } from "../../../packages/host/test/records.ts";
export const bob = { kind: "human", userId: "bob" } as const;
export const helper = { kind: "agent", agentId: "helper" } as const;
export const carol = { kind: "human", userId: "carol" } as const;
const dave = { kind: "human", userId: "dave" } as const;

/** In every answer, line of the log and row of the audit log that an attacker causes, this is a leak. */
export const canary = "canary-7f3a";

/** The caller that has a token. Names of other tenants and roles say which. */
export type Person = keyof typeof people | "admin";

/** Who sends something: one of the people, or the bearer of a token that was made for one attack. */
export type Caller = Person | { readonly token: string };

/** The token of a caller. */
export function tokenOf({ tokens }: Pick<World, "tokens">, caller: Caller): string {
  return typeof caller === "string" ? tokens[caller] : caller.token;
}

const agentOf = (actor: object, owner: object) => ({
  actor,
  owner,
  authority: owner,
  purposes: ["support", "billing"],
});
const operatorOf = (actor: object, role: string, tenant?: string) => ({
  actor,
  owner: actor,
  purposes: ["operate"],
  admin: true,
  role,
  ...(tenant !== undefined && { tenant }),
});

/** Globex has principals of the same names as Acme. */
const people = {
  assistant: { namespaceId: "acme", access: agentOf(assistant, alice) },
  helper: { namespaceId: "acme", access: agentOf(helper, alice) },
  alice: { namespaceId: "acme", access: agentOf(alice, alice) },
  bob: { namespaceId: "acme", access: agentOf(bob, bob) },
  globexAssistant: { namespaceId: "globex", access: agentOf(assistant, alice) },
  globexAlice: { namespaceId: "globex", access: agentOf(alice, alice) },
  acmeAdmin: { namespaceId: "operators", access: operatorOf(carol, "admin", "acme") },
  acmeReviewer: { namespaceId: "operators", access: operatorOf(carol, "reviewer", "acme") },
  secondReviewer: { namespaceId: "operators", access: operatorOf(dave, "reviewer", "acme") },
  acmeAuditor: { namespaceId: "operators", access: operatorOf(dave, "auditor", "acme") },
  globexAdmin: { namespaceId: "operators", access: operatorOf(carol, "admin", "globex") },
  auditor: { namespaceId: "operators", access: operatorOf(dave, "auditor") },
} as const;

/** A host with two tenants and all principals in them, and what can be seen of it from the inside. */
export interface World {
  readonly url: string;
  readonly folder: string;
  readonly host: Host;
  /** Another connection to the host's database. */
  readonly db: ReturnType<typeof connectSqlite>;
  readonly log: RecordingLog;
  readonly tokens: Readonly<Record<Person, string>>;
  readonly credentialIds: Readonly<Record<keyof typeof people, string>>;
  /** What must never be seen again: tokens, codes and cookies. */
  readonly secrets: Set<string>;
  /** Every payment that was really made. */
  readonly payments: string[];
  /** An id that was not used before. */
  fresh(word?: string): string;
  /** The status of a request that anyone may send. */
  health(): Promise<number>;
  close(): Promise<void>;
}

/** How the host of a group differs. */
export interface WorldOptions {
  /** What its configuration file has. */
  config?: object;
  flags?: Readonly<Record<string, string>>;
  env?: NodeJS.ProcessEnv;
  /** How its health is asked for, where that takes a certificate: there no one is given anything beforehand. */
  health?(url: string): Promise<number>;
}

const unrated = { "limits.requestsPerSecond": "100000", "limits.burst": "100000" };

/** Starts the host and admits every caller. */
export async function openWorld({ config, flags, env = {}, health }: WorldOptions = {}): Promise<World> {
  const folder = makeFolder();
  mkdirSync(join(folder, ".turnpike"), { mode: 0o700 });
  const location = join(folder, ".turnpike", "turnpike.db");
  const file = join(folder, "turnpike.config.json");
  writeFileSync(file, JSON.stringify(config ?? {}));
  const settings = loadConfig({
    file,
    env: {},
    flags: { "listen.port": "0", database: location, ...unrated, ...flags },
  });
  const log = recordingLog();
  const payments: string[] = [];
  const host = await startHost(settings, { log, env, runtime: obedientRuntime, tools: [payTool(payments)] });
  const db = connectSqlite(location);
  const token = readFileSync(join(folder, ".turnpike", "admin-token"), "utf8").trim();
  const secrets = new Set([token]);
  const made = await makePeople(host, secrets);
  let ids = 0;
  const world: World = {
    url: host.url,
    folder,
    host,
    db,
    log,
    tokens: { ...made.tokens, admin: token },
    credentialIds: made.ids,
    secrets,
    payments,
    fresh(word = "id") {
      ids += 1;
      return `${word}-${ids}`;
    },
    health: () => (health === undefined ? statusOf(host.url) : health(host.url)),
    async close() {
      await db.destroy();
      await host.close();
    },
  };
  if (health === undefined) await furnish(world);
  return world;
}

async function statusOf(url: string): Promise<number> {
  return (await ask(url, "/health")).status;
}

async function makePeople({ stores }: Host, secrets: Set<string>) {
  const [ids, tokens]: [Record<string, string>, Record<string, string>] = [{}, {}];
  for (const [name, { namespaceId, access }] of Object.entries(people)) {
    const made = await stores.credentials.create({ namespaceId, access: access as never });
    [ids[name], tokens[name]] = [made.id, made.token];
    secrets.add(made.token);
  }
  return { ids, tokens } as { ids: World["credentialIds"]; tokens: World["tokens"] };
}

/** Pays a caller, which needs `pay` on `bank/<who>`. */
function payTool(payments: string[]): ToolHandler {
  const bank = (...path: string[]) => ({ action: "pay", resource: { namespace: "bank", path } });
  return defineTool({
    name: "bank.pay",
    description: "Pays another party.",
    namespace: "bank",
    readWrite: "write",
    input: z.strictObject({ to: z.string(), amount: z.number() }),
    output: z.strictObject({ paid: z.number() }),
    requires: { ceiling: bank(), of: ({ to }) => bank(to) },
    async run({ to, amount }) {
      payments.push(`${to} ${amount}`);
      return Promise.resolve({ paid: amount });
    },
  });
}

/** What a caller is granted. */
export interface Granted {
  id?: string;
  tenant?: string;
  subject?: object;
  issuer?: object;
  actions?: readonly string[];
  scope?: "exact" | "descendants";
  approval?: "each";
  constraints?: object;
  parentId?: string;
}

/** The body of a grant over a resource such as `files/notes`: from Alice to the assistant at Acme, unless said otherwise. */
export function grantBody(id: string, resource: string, granted: Granted = {}): Record<string, unknown> {
  const { tenant = "acme", subject = assistant, issuer = alice, actions = ["*"], scope = "descendants" } = granted;
  const { approval, constraints = {}, parentId } = granted;
  const [namespace = "", ...path] = resource.split("/");
  return {
    id,
    namespaceId: tenant,
    subject,
    issuer,
    capabilities: [{ resource: { namespace, path }, actions, scope, ...(approval && { approval }) }],
    constraints,
    issuedAt: "2026-01-01T00:00:00Z",
    ...(parentId !== undefined && { parentId }),
  };
}

/** Issues a grant and returns its id. */
export async function issue(world: World, resource: string, granted: Granted = {}): Promise<string> {
  const id = granted.id ?? world.fresh("grant");
  const body = grantBody(id, resource, granted);
  await done(ask(world.url, "/admin/v1/grants", { token: world.tokens.admin, body }));
  return id;
}

/** An answer that has to be a success. */
export async function done(answering: Promise<Answer>): Promise<Answer> {
  const answer = await answering;
  if (answer.status >= 300) throw new Error(`It was not done: ${answer.status} ${answer.text}`);
  return answer;
}

/** Grants, namespaces and files: Alice has everything of her own, her assistant notes, mail and a little money. */
async function furnish(world: World): Promise<void> {
  const { url, tokens } = world;
  for (const [tenant, own, agent] of [
    ["acme", tokens.alice, tokens.assistant],
    ["globex", tokens.globexAlice, tokens.globexAssistant],
  ] as const) {
    await issue(world, "files", { tenant, id: "alice-files", subject: alice });
    await issue(world, "files/notes", { tenant, id: "notes" });
    await issue(world, "service.messaging/human/bob", { tenant, id: "mail" });
    await issue(world, "service.messaging/agent/assistant", { tenant, id: "inbox", actions: ["receive"] });
    await issue(world, "bank/shop", { tenant, id: "bank" });
    await letAct(world, tenant);
    for (const token of [own, agent]) await enable(world, token);
    for (const [path, content] of [
      ["notes/todo", "- water the plants"],
      ["notes2/plan", `${canary} of ${tenant}`],
      ["diary/today", `${canary} of ${tenant}`],
    ])
      await done(
        ask(url, "/v1/resources/invoke", { token: own, body: fileBody(world, "create", path ?? "", { content }) }),
      );
  }
  await issue(world, "files", { id: "bob-files", subject: bob, issuer: bob });
  await issue(world, "service.messaging/human/bob", {
    id: "bob-inbox",
    subject: bob,
    issuer: bob,
    actions: ["receive"],
  });
  for (const token of [tokens.bob, tokens.helper]) await enable(world, token);
}

/** What the assistant of a tenant needs to run turns, to escalate, and to pay after an approval. */
async function letAct(world: World, tenant: string): Promise<void> {
  await issue(world, "service.execution/agent/assistant", { tenant, id: "turns" });
  await issue(world, "service/escalation", { tenant, id: "ask" });
  await issue(world, "bank/vault", { tenant, id: "vault", approval: "each" });
}

/** The assistant of a tenant that no other attack knows: what it uses up is no one else's. */
export async function newAssistant(world: World): Promise<Caller> {
  const tenant = world.fresh("tenant");
  const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
  const { token } = await world.host.stores.credentials.create({ namespaceId: tenant, access });
  world.secrets.add(token);
  await letAct(world, tenant);
  await enable(world, token);
  return { token };
}

async function enable({ url }: World, token: string): Promise<void> {
  const body = { enable: ["files", "messages", "service", "bank", "mcp.test"] };
  await done(ask(url, "/v1/tools/namespaces", { token, method: "PUT", body }));
}

/** The body of a resource operation on a file. */
export function fileBody(world: World, action: string, path: string, input?: object): Record<string, unknown> {
  const resource = { namespace: "files", path: path.split("/") };
  return { operationId: world.fresh("operation"), action, resource, ...(input && { input }) };
}
