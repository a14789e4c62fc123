import type { CredentialAccess, EscalationRecord } from "../src/admin-contract/records.ts";
/** An operators' office on a database: a host with a fixed clock, tokens, and ways to ask as anyone. */
import type { AccessContext, Act, AuditEvent, Escalation, PrincipalRef } from "turnpike/contracts";
import {
  createKernel,
  requestHash,
  type ActToApprove,
  type AuditSink,
  type Kernel,
  type KernelOptions,
} from "turnpike/kernel";
import { createServiceApi } from "turnpike/http";
import { createTurnExecutor } from "turnpike/runtime";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createCheckpoints, type Checkpoints } from "../src/audit/checkpoints.ts";
import { openSigningKey } from "../src/audit/signing-key.ts";
import { createFront } from "../src/front/front.ts";
import { asFetch } from "./fetch-front.ts";
import { requireDocumented } from "./documented.ts";
import { serveProtocol } from "../src/front/protocol.ts";
import { createLiveTenants } from "../src/events/live-tenants.ts";
import { readTool, type McpTool } from "../src/mcp-servers/mcp-tool.ts";
import { createToolPins } from "../src/mcp-servers/tool-pins.ts";
import { createReviews, type McpReviews } from "../src/mcp-servers/tool-review.ts";
import { openWebhooks, type Webhook } from "../src/webhooks/webhook.ts";
import { createMetrics } from "../src/telemetry/metrics.ts";
import { adminProtocol } from "../src/protocols/admin/admin-protocol.ts";
import { createReportScheduler, type ReportLimits, type ReportScheduler } from "../src/shared/report-scheduler.ts";
import type { Database } from "../src/storage/database.ts";
import { findBearer } from "../src/access/find-bearer.ts";
import { limitSenders } from "../src/access/limit-senders.ts";
import { createBearerContexts } from "../src/access/resolve-context.ts";
import { demoRuntime } from "../src/turns/runtimes/scripted.ts";
import { createRateLimit, type RateLimit } from "../src/access/rate-limit.ts";
import { openStores, type Stores } from "../src/compose/stores.ts";
import { createRetention, retentionLocks } from "../src/retention/retention.ts";
import { tenantDeletion } from "../src/retention/tenant-deletion.ts";
import { textOf } from "./event-streams.ts";
import { testRoot } from "./test-root.ts";
import { access, alice, assistant, context } from "./records.ts";

/** The instant at which everything in it happens, as the host writes it. */
export const officeTime = "2026-01-01T12:00:00.000Z";
export const oona: PrincipalRef = { kind: "human", userId: "oona" };
export const bob: PrincipalRef = { kind: "human", userId: "bob" };

/** Who sends a request; `stranger` sends no token at all. */
type Caller = "operator" | "agent" | "stranger";

interface Answer<Body> {
  status: number;
  headers: Headers;
  body: Body;
}

/** The answer to a request that did not become an operation. */
export interface Refusal {
  error: { code: string; message: string; requestId: string };
}

/** How an office differs from the usual one. */
export interface OfficeOptions {
  audit?: AuditSink;
  rateLimit?: RateLimit;
  pages?: Readonly<Record<string, () => Promise<Response>>>;
  kernel?: Partial<KernelOptions>;
  escalationMs?: number;
  /** Where its operators reach it; `http://host` unless given. */
  origin?: string;
  /** The time at which tokens and sessions are judged; that of the machine unless given. */
  accessClock?: () => Date;
  /** How many people have to approve an escalation. */
  approvals?: number;
  /** The checkpoints of an office that was there before. */
  checkpointFile?: string;
  /** What the MCP server `notes` lists; the test server's `echo` unless given. Throws when the server does not answer. */
  mcpTools?: () => readonly unknown[];
  /** How many streams of events one credential may have open. */
  maxStreams?: number;
  /** The limits of reports, where they are others than a host's. */
  reports?: Partial<ReportLimits>;
}

export interface Office {
  stores: Stores;
  checkpoints: Checkpoints;
  /** Where its checkpoints are. */
  checkpointFile: string;
  kernel: Kernel;
  /** What the clock says; it can be set. */
  time: { now: string };
  /** The operator's credential: its principal is Oona. */
  operatorId: string;
  tokens: Readonly<Record<"operator" | "agent", string>>;
  errors: unknown[];
  auditErrors: unknown[];
  handler: (request: Request) => Promise<Response | undefined>;
  /** Puts a message of a tenant to the webhook of the office into the outbox, as it is after so many attempts; returns its id. */
  addMessage(tenant: string, attempts?: number): Promise<string>;
  /** How often the engine of turns was woken. */
  wakes(): number;
  /** Removes what is left of deleted tenants. */
  removeDeletedTenants(): Promise<void>;
  /** Where their audit logs are exported. */
  exportFolder: string;
  send<Body = Refusal>(as: Caller, method: string, path: string, body?: unknown): Promise<Answer<Body>>;
  get<Body>(path: string, query?: Readonly<Record<string, string | number>>): Promise<Answer<Body>>;
  post<Body>(path: string, body: unknown): Promise<Answer<Body>>;
  /** Gives a person one more operator's credential, and posts with it. */
  postAs(person: PrincipalRef): Promise<Office["post"]>;
  /** The same for an auditor of one tenant, who reads. */
  getAs(person: PrincipalRef, tenant: string): Promise<Office["get"]>;
  reports: ReportScheduler;
}

/** Whom an office tells what happens. Its messages are not sent. */
const [webhook] = openWebhooks(
  { webhooks: [{ url: "https://hooks.example/in/secret", secretEnv: "HOOK", events: ["escalation.opened"] }] },
  { HOOK: "a secret of a webhook, long enough" },
) as [Webhook];

const silent = { info() {}, warn() {}, error() {} };
/** One for all offices: making them takes longer than most requests do. */
const metrics = createMetrics();
let signingKey: ReturnType<typeof openSigningKey> | undefined;
let folder: string | undefined;
let offices = 0;

/** A file that no other office has unless one is given, beside the key of all of them. */
function newCheckpointFile(given?: string): { file: string; keyFile: string } {
  folder ??= mkdtempSync(join(testRoot, "turnpike-office-"));
  const made = folder;
  if (offices === 0) process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  offices += 1;
  return { file: given ?? join(folder, `${offices}.checkpoints.jsonl`), keyFile: join(folder, "audit-key.pem") };
}

/** Opens an office; its tenants are whatever its tests name. */
export async function openOffice(database: Database, options: OfficeOptions = {}): Promise<Office> {
  const { audit, rateLimit, pages, escalationMs = 86_400_000, approvals = 1 } = options;
  const webhooks = [webhook];
  const reports = createReportScheduler({ running: 2, waiting: 4, waitMs: 10_000, ...options.reports });
  const stores = openStores(database, { escalationMs, approvals, webhooks });
  const { grants, usage, escalations, permits } = stores;
  const kernel = createKernel({ grants, usage, escalations, permits, audit: stores.audit, ...options.kernel });
  const time = { now: officeTime };
  const clock = (): Date => new Date(time.now);
  const { file, keyFile } = newCheckpointFile(options.checkpointFile);
  signingKey ??= openSigningKey(keyFile);
  const key = signingKey;
  const checkpoints = createCheckpoints({ file, key, audit: stores.audit, database, log: silent, clock });
  const auditLogs = { database, audit: stores.audit, checkpoints, key, folder: `${file}.exports`, log: silent };
  const deletion = createRetention({
    database,
    tasks: [tenantDeletion({ ...auditLogs, tenants: stores.tenants })],
    log: silent,
    now: () => Promise.resolve(clock()),
    lock: retentionLocks.tenant,
  });
  const operators = { actor: oona, owner: oona, purposes: ["operate"], admin: true };
  const operator = await stores.credentials.create({ namespaceId: "operators", access: operators });
  const agent = await stores.credentials.create({ namespaceId: "acme", access });
  const tokens = { operator: operator.token, agent: agent.token };
  const errors: unknown[] = [];
  const auditErrors: unknown[] = [];
  let wakes = 0;
  const { isDeleted } = stores.tenants;
  const contextOf = createBearerContexts({ settings: stores.settings });
  const turns = createTurnExecutor({ kernel, runtime: demoRuntime, journal: stores.turns });
  const protocol = serveProtocol(
    adminProtocol(
      {
        stores,
        checkpoints,
        database,
        kernel,
        readOnlyKernel: (over) => createKernel({ usage, permits, ...options.kernel, grants: over, audit: "none" }),
        toolNamespaces: () => ["files", "messages", "service"],
        toolNames: () => Promise.resolve(["files.read", "messages.send"]),
        resourceActions: () => [{ namespace: "files", actions: ["list", "read"] }],
        mcp: reviewsOf(stores, options.mcpTools),
        live: createLiveTenants({
          stores,
          withdrawnTools: () => Promise.resolve([]),
          clock,
          maxStreams: options.maxStreams ?? 100,
          pollMs: 20,
          onFailure: (error) => void errors.push(error),
        }),
        reports,
        isDemo: false,
        clock,
        trials: {
          api: limitSenders(createServiceApi({ kernel, turns })),
          bearerOf: (choice, traceId) =>
            findBearer({ credentials: stores.credentials, isDeleted, contextOf, clock }, choice, traceId),
          onLateError: (error) => void errors.push(error),
        },
        // Only when the test says so: what it reads must not be removed meanwhile.
        removeDeletedTenants() {},
        settleLosses: () => Promise.resolve(),
        wakeTurns: () => void (wakes += 1),
      },
      {
        credentials: stores.credentials,
        sessions: stores.sessions,
        originOf: () => options.origin ?? "http://host",
        audit: audit ?? stores.audit,
        rateLimit: rateLimit ?? createRateLimit({ perSecond: 10_000, burst: 10_000 }),
        clock: options.accessClock ?? (() => new Date()),
        onAuditError: (error) => void auditErrors.push(error),
      },
      Object.entries(pages ?? {}).map(([path, answer]) => ({ method: "GET", path, answer })),
    ),
  );
  const log = { ...silent, error: (facts: object) => void errors.push(facts) };
  const front = asFetch(createFront({ protocols: [protocol], log, metrics }));
  const handler: Office["handler"] = async (request) => {
    const { method, url } = request;
    const { pathname: path } = new URL(url);
    if (!protocol.owns(path)) return undefined;
    const response = await front(request);
    const { ok, status, headers } = response;
    requireDocumented({ method, path, status, headers, body: ok ? undefined : await response.clone().json() });
    return response;
  };
  const request = async <Body>(token: string | undefined, method: string, path: string, body?: unknown) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const init = { method, headers, ...(body !== undefined && { body: sent }) };
    const response = await handler(new Request(`http://host${path}`, init));
    if (response === undefined) throw new Error(`${path} is not the operators'.`);
    const text = await textOf(response);
    return { status: response.status, headers: response.headers, body: (text && JSON.parse(text)) as Body };
  };
  const send: Office["send"] = (as, method, path, body) =>
    request(as === "stranger" ? undefined : tokens[as], method, path, body);
  return {
    stores,
    checkpoints,
    checkpointFile: file,
    kernel,
    time,
    operatorId: operator.id,
    tokens,
    errors,
    auditErrors,
    handler,
    async addMessage(namespace_id, attempts = 0) {
      const message = `msg_${crypto.randomUUID().replaceAll("-", "")}`;
      const times = { created_at: time.now, due_at: time.now, last_error: attempts > 0 ? "answered 503" : null };
      const about = { webhook: webhook.key, message, namespace_id, type: "escalation.opened", content: "{}" };
      await database.db
        .insertInto("outbox")
        .values({ ...about, ...times, attempts })
        .execute();
      return message;
    },
    wakes: () => wakes,
    removeDeletedTenants: deletion.run,
    exportFolder: auditLogs.folder,
    send,
    get: (path, query = {}) => send("operator", "GET", `${path}?${queryText(query)}`),
    post: (path, body) => send("operator", "POST", path, body),
    async postAs(person) {
      const owned = { ...operators, actor: person, owner: person };
      const { token } = await stores.credentials.create({ namespaceId: "operators", access: owned });
      return (path, body) => request(token, "POST", path, body);
    },
    async getAs(person, tenant) {
      const reader = { ...operators, actor: person, owner: person, role: "auditor" as const, tenant };
      const { token } = await stores.credentials.create({ namespaceId: "operators", access: reader });
      return (path, query = {}) => request(token, "GET", `${path}?${queryText(query)}`);
    },
    reports,
  };
}

const echo = {
  name: "echo",
  description: "Says it again.",
  inputSchema: { type: "object", properties: { words: { type: "string" } }, required: ["words"] },
  annotations: { readOnlyHint: true },
};

/** The reviews of one MCP server. */
function reviewsOf({ mcpPins }: Stores, mcpTools: () => readonly unknown[] = () => [echo]): McpReviews {
  const listTools = async (): Promise<Map<string, McpTool>> => {
    const readings = mcpTools().map((entry) => readTool("notes", entry));
    return new Map(readings.flatMap((reading) => (reading.ok ? [[reading.tool.listed.name, reading.tool]] : [])));
  };
  const pins = createToolPins({ store: mcpPins, log: silent, pinFirst: async () => {}, withdraw: async () => {} });
  return createReviews(new Map([["notes", listTools]]), mcpPins, pins);
}

/** A query string of these values. */
export function queryText(query: Readonly<Record<string, string | number>>): string {
  return new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
}

/** Reads a list page by page to its end, with something done after each page; a list without an end fails. */
export async function readPages<Body extends { cursor?: string | undefined }>(
  { get }: Office,
  path: string,
  query: Readonly<Record<string, string | number>>,
  afterPage: (page: number) => Promise<void> = () => Promise.resolve(),
): Promise<Body[]> {
  const pages: Body[] = [];
  let cursor: string | undefined;
  do {
    const { status, body } = await get<Body>(path, { ...query, ...(cursor !== undefined && { cursor }) });
    if (status !== 200) throw new Error(`Page ${pages.length + 1} answers ${status}: ${JSON.stringify(body)}`);
    pages.push(body);
    if (pages.length > 50) throw new Error("The pages do not end.");
    await afterPage(pages.length);
    ({ cursor } = body);
  } while (cursor !== undefined);
  return pages;
}

/** What operators changed in a tenant, oldest first. */
export async function changesIn({ stores }: Office, namespaceId: string): Promise<AuditEvent[]> {
  const rows = await stores.audit.list(namespaceId, { type: "operator.changed", limit: 500 });
  return rows.map(({ event }) => event).toReversed();
}

/** What is asked for unless a test says otherwise: reading one place of Alice's, twice at most. */
export const wanted = {
  capabilities: [{ resource: { namespace: "files", path: ["diary"] }, actions: ["read"], scope: "exact" as const }],
  constraints: { maxUses: 2 },
};

/** The escalation that the assistant asks of Alice. */
export function escalation(changes: Partial<Escalation> = {}, asked: object = wanted): Escalation {
  const requestedAt = changes.requestedAt ?? officeTime;
  return {
    status: "pending",
    reason: "May I read the diary?",
    requestedAt,
    reviewer: alice,
    requestedAuthority: {
      id: "request-1",
      namespaceId: "tenant-1",
      owner: alice,
      requester: assistant,
      purpose: "support",
      requestedAt,
      ...(asked as typeof wanted),
    },
    ...changes,
  };
}

/** Puts an escalation into the queue of a tenant and returns it as the queue stores it. */
export async function askIn(
  { escalations }: Pick<Stores, "escalations">,
  namespaceId: string,
  asked: Escalation = escalation(),
  who: Partial<AccessContext> = {},
): Promise<EscalationRecord> {
  await escalations.add(context({ namespaceId, ...who }), asked);
  const [newest] = await escalations.list(namespaceId, { limit: 1, now: asked.requestedAt });
  if (newest === undefined) throw new Error("The escalation was not stored.");
  return newest;
}

/** Makes credentials of reviewers of all tenants, by their ids. */
export async function makeReviewers(
  { credentials }: Pick<Stores, "credentials">,
  ids: readonly string[],
  changes: { access?: Partial<CredentialAccess> } = {},
): Promise<void> {
  for (const id of ids) {
    const reviewer: CredentialAccess = {
      actor: oona,
      owner: oona,
      purposes: ["operate"],
      admin: true,
      role: "reviewer",
    };
    const made = { ...reviewer, ...changes.access };
    if ((await credentials.find(id)) !== undefined) continue;
    await credentials.create({ id, namespaceId: "operators", access: made });
  }
}

/** What the request of an act needs unless a test says otherwise. */
export const payment = { action: "pay", resource: { namespace: "bank", path: ["bob"] } };

/** A payment of the assistant's that needs an approval, in a tenant. */
export function actToApprove(
  namespaceId: string,
  changes: Partial<ActToApprove> = {},
  who: Partial<AccessContext> = {},
): ActToApprove {
  const act: Act = { kind: "tool", tool: "bank.pay", arguments: { to: "bob", amount: 1 } };
  const hash = requestHash(context({ namespaceId, ...who }), changes.act ?? act);
  return { hash, act, request: payment, grantId: "grant-1", ...changes };
}

/** Asks about an act and returns the escalation as the queue stores it. */
export async function askAct(
  { permits, escalations }: Pick<Stores, "permits" | "escalations">,
  namespaceId: string,
  changes: Partial<ActToApprove> = {},
  who: Partial<AccessContext> = {},
): Promise<EscalationRecord> {
  const asked = await permits.ask(context({ namespaceId, ...who }), actToApprove(namespaceId, changes, who));
  const stored = asked === "full" ? undefined : await escalations.find(namespaceId, asked.id, officeTime);
  if (stored === undefined) throw new Error("The escalation was not stored.");
  return stored;
}

const tables = ["grants", "uses", "namespace_settings", "credentials", "escalations", "turns"] as const;

/** Everything that operators can change of a tenant, as the database has it. */
export async function stateOf({ db }: Database, namespaceId: string): Promise<unknown[]> {
  const state: unknown[] = [];
  for (const table of tables) {
    const rows = await db.selectFrom(table).selectAll().where("namespace_id", "=", namespaceId).execute();
    state.push([table, rows.map((row) => JSON.stringify(row)).toSorted()]);
  }
  return state;
}
