import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServiceClient, type ServiceClient } from "turnpike/client";
import type { TurnRequest } from "turnpike/contracts";
import { createAdminClient, type AdminClient } from "turnpike-host/admin-contract";
import { alice, purpose, tenant } from "../support/world.ts";
import { startWorker, type Worker } from "./worker.ts";

/** Where an effect is interrupted. */
export type Instant = "before" | "after";

/** How a process of a side is started. */
interface StartOptions {
  /** The file that effects are lines of. */
  readonly file?: string;
  /** Effects hang there, for the process to be killed. */
  readonly hangs?: Instant;
}

/** Something that waits, and how it is answered. */
interface Question {
  readonly id: string;
  answer(): Promise<unknown>;
}

/** A running process of a side. */
export interface Running {
  readonly worker: Worker;
  /** Begins to append a line for each id, in a step or a tool call. */
  append(ids: readonly string[]): Promise<unknown>;
  /** What each of them came to, once it has ended. */
  results(ids: readonly string[]): Promise<string[]>;
  /** Begins something for each id that waits for an answer, and resolves when all of them wait. */
  wait(ids: readonly string[]): Promise<unknown>;
  /** In a new process: resolves when everything that has to be in memory while these wait is there again. */
  waitAgain(ids: readonly string[]): Promise<unknown>;
  /** Some of those that wait. */
  questions(count: number): Promise<Question[]>;
}

/** One of those who are compared. */
export interface Side {
  readonly name: string;
  start(options?: StartOptions): Promise<Running>;
}

const atOnce = 32;

/** Workflows of DBOS on a PostgreSQL. */
export function dbosSide(name: string, folder: string, database: string): Side {
  return {
    name,
    async start(options = {}) {
      const worker = await startWorker("dbos.js", { database, ...options }, folder);
      const waiting: string[] = [];
      return {
        worker,
        append: (ids) => worker.order("append", { ids }),
        results: (ids) => worker.order("results", { ids }),
        async wait(ids) {
          waiting.push(...ids);
          await inParallel(ids, async (id) => {
            await worker.order("wait", { id });
            await worker.heard("waits", id);
          });
        },
        waitAgain: (ids) => Promise.all(ids.map((id) => worker.heard("waits", id))),
        questions: (count) =>
          Promise.resolve(waiting.slice(-count).map((id) => ({ id, answer: () => worker.order("answer", { id }) }))),
      };
    },
  };
}

/** Turns of a host, on SQLite unless a PostgreSQL is given, which call a tool of this name. */
export function hostSide(name: string, folder: string, database?: string, tool = "effects.append"): Side {
  return {
    name,
    async start(options = {}) {
      const worker = await startWorker("host.js", { database, ...options }, folder);
      const url = await worker.order<string>("url");
      const token = readFileSync(join(folder, ".turnpike/admin-token"), "utf8").trim();
      const operator = createAdminClient({ url, token });
      const agents = new Agents(url, operator, folder);
      const start = async (ids: readonly string[], payloadOf: (id: string) => object): Promise<void> => {
        const clients = await agents.clientsFor(ids);
        await inParallel(ids, async (id) => {
          const { agentId, client } = clients.get(id) as Agent;
          await client.startTurn(turnRequest(id, agentId, payloadOf(id)));
        });
      };
      return {
        worker,
        append: (ids) => start(ids, (line) => ({ tool, arguments: { line } })),
        async results(ids) {
          const clients = await agents.clientsFor(ids);
          await nothingRuns(clients);
          return inParallel(ids, async (id) => {
            const { result } = await (clients.get(id) as Agent).client.turn(id);
            return result?.status === "succeeded" ? String(result.output) : `${result?.status}`;
          });
        },
        async wait(ids) {
          await start(ids, (id) => ({ tool: "service.escalate", arguments: { reason: `May ${id} go on?` } }));
          await nothingRuns(await agents.clientsFor(ids));
        },
        waitAgain: () => Promise.resolve(),
        async questions(count) {
          const listed = await operator.request("listEscalations", {
            namespaceId: tenant,
            status: "pending",
            limit: count,
          });
          return listed.escalations.map(({ id, ask, executionId = "" }) => ({
            id: executionId,
            answer: () => operator.request("denyEscalation", { namespaceId: tenant, id, ask, reason: "No." }),
          }));
        },
      };
    },
  };
}

interface Agent {
  readonly agentId: string;
  readonly client: ServiceClient;
}

/** As many questions of one agent wait at most, unless a host is told otherwise. */
const turnsAnAgent = 100;

/** The agents whose turns are measured. Tokens are stored for the next process of the same host. */
class Agents {
  static readonly #tokens = new Map<string, string>();
  readonly #url: string;
  readonly #operator: AdminClient;
  readonly #folder: string;

  constructor(url: string, operator: AdminClient, folder: string) {
    this.#url = url;
    this.#operator = operator;
    this.#folder = folder;
  }

  /** The agent of each id. Ids end with a number. */
  async clientsFor(ids: readonly string[]): Promise<Map<string, Agent>> {
    const agents = new Map<string, Agent>();
    const clients = new Map<string, Agent>();
    for (const id of ids) {
      const agentId = `${id.replace(/\d+$/, "")}${Math.floor(Number(/\d+$/.exec(id)?.[0] ?? 0) / turnsAnAgent)}`;
      const agent = agents.get(agentId) ?? { agentId, client: this.#client(await this.#tokenOf(agentId)) };
      agents.set(agentId, agent);
      clients.set(id, agent);
    }
    return clients;
  }

  #client(token: string): ServiceClient {
    return createServiceClient({ baseUrl: this.#url, token, headers: { "x-trace-id": "t" } });
  }

  async #tokenOf(agentId: string): Promise<string> {
    const key = `${this.#folder} ${agentId}`;
    const token = Agents.#tokens.get(key) ?? (await admit(this.#operator, agentId));
    Agents.#tokens.set(key, token);
    return token;
  }
}

/** Lets an agent run turns, append and ask. Returns its token. */
async function admit(operator: AdminClient, agentId: string): Promise<string> {
  const agent = { kind: "agent", agentId } as const;
  const access = { actor: agent, owner: alice, authority: alice, purposes: [purpose] };
  const { token } = await operator.request("createCredential", { namespaceId: tenant, access });
  const may = (namespace: string, path: string[], action: string) => ({
    resource: { namespace, path },
    actions: [action],
    scope: "exact",
  });
  await operator.request("createGrant", {
    id: agentId,
    namespaceId: tenant,
    subject: agent,
    issuer: alice,
    capabilities: [
      may("service.execution", ["agent", agentId], "invoke"),
      may("effects", [], "append"),
      may("service", ["escalation"], "request"),
    ],
    constraints: {},
    issuedAt: new Date(Date.now() - 60_000).toISOString(),
  });
  const update = { enable: ["effects", "service"] };
  await operator.request("changeNamespaces", { namespaceId: tenant, actor: agent, update });
  return token;
}

function turnRequest(executionId: string, agentId: string, payload: object): TurnRequest {
  const agent = { kind: "agent", agentId } as const;
  const createdAt = new Date().toISOString();
  const envelope = { version: 1, id: executionId, createdAt, traceId: "t", purpose, sender: alice, receiver: agent };
  return { version: 1, executionId, agent, message: { ...envelope, payload } } as TurnRequest;
}

/** Resolves when every turn of these agents has ended or waits. */
async function nothingRuns(agents: ReadonlyMap<string, Agent>): Promise<void> {
  for (const { client } of new Set(agents.values()))
    while ((await client.turns({ statuses: ["running"], limit: 1 })).turns.length > 0) await pause(20);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Does something for each item, a few at a time. The results are in the order of the items. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const run = async (): Promise<void> => {
    for (const [place, item] of left) results[place] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  return results;
}
