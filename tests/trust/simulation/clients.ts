import type { Action, Episode } from "./plan.ts";
import type { Answer, WireCall } from "./host.ts";
import { keyOfCall } from "./model.ts";
import { agentOf, bot, peer } from "./population.ts";
import type { World } from "./world.ts";

/** A request under an id of its sender's, and how it was answered so far. */
export interface Asked {
  tenant: string;
  action: Action;
  call: Omit<WireCall, "token">;
  /** By which an effect of it is known. */
  key: string;
  /** Answers that say that it was done. */
  done: Answer[];
  /** Whether a host has said that no one knows what came of it. */
  isInterrupted: boolean;
}

/** Everything that clients of a world have asked for, by what tells one request from another. */
export type Ledger = Map<string, Asked>;

const createdAt = "2025-12-31T12:00:00Z";

/** Does one thing after the other, each until there is an answer that counts, or patience ends. */
export async function runClient(
  world: World,
  { tenant, actions }: Episode["clients"][number],
  ledger: Ledger,
): Promise<void> {
  for (const action of actions) {
    const made = askedBy(tenant, action, world.random.below(1_000_000));
    // An escalation about authority is another one each time.
    const name = action.kind === "authorize" ? made.key : `${tenant} ${JSON.stringify(action)}`;
    const asked = ledger.get(name) ?? made;
    ledger.set(name, asked);
    // Another caller may ask for the same at the same instant, as a client does that has lost patience.
    const isTwin = world.random.chance(0.2);
    await Promise.all([ask(world, asked), ...(isTwin ? [ask(world, asked)] : [])]);
  }
}

/** Asks until there is an answer that counts. One that comes late, because another host was asked meanwhile, counts as well. */
export async function ask(world: World, asked: Asked, attempts = 4): Promise<Answer | undefined> {
  const late = new Map<number, Promise<unknown>>();
  try {
    for (let attempt = 0; attempt < attempts + (late.size > 0 ? attemptsMeanwhile : 0); attempt += 1) {
      if (attempt > 0) world.model.count("retries");
      const place = world.placeBut([...late.keys()]);
      const asking = askOnce(world, asked, place);
      const answer = await world.within(2000 + world.random.below(3000), asking);
      if (answer === "late") late.set(place, Promise.all([late.get(place), asking]));
      else if (answer !== undefined) return answer;
      await world.scheduler.wait(1 + world.random.below(1500));
    }
    return undefined;
  } finally {
    await Promise.all(late.values());
  }
}

/** So often it is tried at other hosts while one has it. */
const attemptsMeanwhile = 10;

/** Asks once. Returns the answer when it counts. */
async function askOnce(world: World, asked: Asked, place: number): Promise<Answer | undefined> {
  const { model, random, scheduler, population } = world;
  const { tenant, call } = asked;
  const { staying, passing } = agentOf(population, tenant);
  const isPassing = random.chance(0.3);
  await scheduler.pause("client");
  const wasRevoked = isPassing && model.isRevoked(tenant, "credential");
  model.sent(asked.key);
  const leaving = new AbortController();
  if (random.chance(0.05)) scheduler.setTimer(() => leaving.abort(), random.below(20));
  const token = isPassing ? passing.token : staying;
  const answer = await world.send(tenant, { ...call, token, signal: leaving.signal }, place);
  if (answer === undefined) return undefined;
  const code = answer.body?.error?.code as string | undefined;
  world.note(`${asked.key}: ${answer.status} ${String(answer.body?.status ?? code ?? "")}`);
  if (wasRevoked && answer.status < 400)
    model.violated(`a revoked credential of ${tenant} was answered ${answer.status}`);
  if (code === "replay_interrupted") asked.isInterrupted = true;
  const counts =
    answer.status === 401 ||
    isDone(world, asked, answer) ||
    (answer.status < 500 && code !== "replay_pending" && answer.status !== 499);
  return counts ? answer : undefined;
}

/** Takes an answer that says that something was done. */
function isDone({ model }: World, asked: Asked, answer: Answer): boolean {
  const { action, done, key, tenant } = asked;
  const { status, body } = answer;
  if (status !== 200 && status !== 202) return false;
  const isEffect = action.kind === "tool" || action.kind === "append" || action.kind === "message";
  if (isEffect && body.status !== "succeeded" && body.status !== "accepted") return false;
  // It says itself that it is not in the audit log.
  if (body.reasonCode === "audit_unavailable") return false;
  if (action.kind === "authorize" && body.allowed === true) {
    const grant = `grant-${action.item}`;
    if (model.isAfterRevocation(tenant, grant, key))
      model.violated(`${key}: ${grant} allows what it has been revoked for`);
  }
  // What others were told stays so: a result that comes later has to be one that is stored.
  if (isEffect && asked.isInterrupted && answer.headers["idempotency-replayed"] !== "true")
    model.violated(`${key} was acknowledged when another host had said that it is interrupted`);
  done.push(answer);
  return true;
}

/** The request by which a client asks for something. */
export function askedBy(tenant: string, action: Action, nonce: number): Asked {
  const post = (path: string, traceId: string, body: unknown, headers = {}): Asked["call"] => ({
    method: "POST",
    path,
    headers: { "x-trace-id": traceId, "x-purpose": "work", ...headers },
    body,
  });
  const make = (key: string, call: Asked["call"]): Asked => ({
    tenant,
    action,
    call,
    key,
    done: [],
    isInterrupted: false,
  });
  const envelope = (id: string, traceId: string, receiver: unknown, payload: unknown) => ({
    version: 1,
    id,
    createdAt,
    traceId,
    purpose: "work",
    sender: bot,
    receiver,
    payload,
  });
  switch (action.kind) {
    case "authorize": {
      const traceId = `check-${nonce}`;
      const request = { action: "have", resource: { namespace: "effects", path: [action.item] } };
      return make(`${tenant} ${traceId}`, post("/v1/authorize", traceId, request));
    }
    case "tool": {
      const [id, traceId] = [`call-${action.id}`, `trace-${action.id}`];
      const { tool, item, tag } = action.call;
      const call = { id, tool, arguments: { item, tag: `${tenant}/${tag}` }, requestedAt: createdAt, traceId };
      return make(keyOfCall(tenant, traceId, id), post("/v1/tools/invoke", traceId, call));
    }
    case "append": {
      const operationId = `append-${action.id}`;
      const resource = { namespace: "files", path: ["log.txt"] };
      const operation = { operationId, action: "append", resource, input: { content: `<${tenant}-${action.id}>` } };
      return make(`${tenant} ${operationId}`, post("/v1/resources/invoke", operationId, operation));
    }
    case "message": {
      const id = `message-${action.id}`;
      return make(`${tenant} ${id}`, post("/v1/messages", id, envelope(id, id, peer, { of: tenant })));
    }
    case "turn": {
      const executionId = `turn-${action.id}`;
      const steps = action.plan.steps.map((step) =>
        "asks" in step ? step : { calls: step.calls.map((call) => ({ ...call, tag: `${tenant}/${call.tag}` })) },
      );
      const message = envelope(`of-${executionId}`, executionId, bot, { tenant, steps });
      const request = { version: 1, executionId, agent: bot, message };
      const headers = action.isAsync ? { prefer: "respond-async" } : {};
      return make(`${tenant} ${executionId}`, post("/v1/turns", executionId, request, headers));
    }
    case "cancel": {
      const call = post(`/v1/turns/turn-${action.id}/cancel`, `cancel-${nonce}`, undefined);
      return make(`${tenant} cancel turn-${action.id}`, call);
    }
    case "list":
      return make(`${tenant} list`, { method: "GET", path: "/v1/turns", headers: { "x-purpose": "work" } });
  }
}
