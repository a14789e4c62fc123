/** A gate that keeps the wire's rules of claims, replay, denial, waiting and leases in memory, and decides by the name of the tool. */
import {
  ActOutcomeSchema,
  ActRequestSchema,
  canonicalJson,
  type ActOutcome,
  type ActRequest,
  type ActState,
  type ErrorObject,
  type JsonValue,
} from "../src/contracts/index.ts";

/** What is decided about the acts of a tool. */
type Verdict = "allow" | "ask" | ErrorObject;

/** One claim: who holds it, and what became of it. */
interface Claim {
  request: ActRequest;
  isLapsed: boolean;
  outcome?: ActOutcome;
}

type Answer = "yes" | "no" | "used";

export interface StandInGate {
  handler(request: Request): Promise<Response>;
  /** Every request that arrived, with what it preferred. */
  readonly begun: { request: ActRequest; prefer: string | null }[];
  /** Every outcome that arrived, whatever was answered. */
  readonly finished: { id: string; outcome: ActOutcome }[];
  /** What is decided about a tool; `allow` unless said otherwise. */
  readonly verdicts: Map<string, Verdict>;
  /** What a person answers about the acts of a tool that wait. It ends every held request. */
  answer(tool: string, answer: "yes" | "no"): void;
  /** Lets the time of every held request be over. */
  letGo(): void;
  /** How many requests are held. */
  readonly held: number;
  /** Lets the lease of an act run out. */
  lapse(id: string): void;
  /** Answers the next requests so, before anything is looked at. */
  fail(...responses: (() => Response | Promise<Response>)[]): void;
}

const completedAt = "2026-01-01T12:00:00Z";
const expiresAt = "2026-01-01T12:05:00Z";

export function standInGate(): StandInGate {
  const claims = new Map<string, Claim>();
  const answers = new Map<string, Answer>();
  const waiters = new Set<() => void>();
  const failures: (() => Response | Promise<Response>)[] = [];
  const gate: Pick<StandInGate, "begun" | "finished" | "verdicts"> = { begun: [], finished: [], verdicts: new Map() };

  const wake = (): void => {
    for (const waiter of waiters) waiter();
  };

  /** Until a person answers, the time is over or the caller has gone. */
  const hold = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        waiters.delete(end);
        signal.removeEventListener("abort", end);
        resolve();
      };
      waiters.add(end);
      signal.addEventListener("abort", end);
    });

  const claim = (request: ActRequest): ActState => {
    const key = keyOf(request.id, request);
    claims.set(key, { request, isLapsed: false });
    return { status: "allowed", id: request.id, expiresAt, grants: ["grant-1"] };
  };

  const begin = async (request: ActRequest, isHeld: boolean, signal: AbortSignal): Promise<Response> => {
    const { id, tool, dryRun, shadow } = request;
    const known = claims.get(keyOf(id, request));
    if (known !== undefined && dryRun === undefined && shadow === undefined) return replay(known, request);
    const verdict = gate.verdicts.get(tool) ?? "allow";
    const question = actOf(request);
    const state = (): ActState => {
      if (typeof verdict === "object") return { status: "denied", id, error: verdict };
      if (verdict === "allow" || answers.get(question) === "yes")
        return { status: "allowed", id, expiresAt, grants: ["grant-1"] };
      if (answers.get(question) === "no")
        return { status: "denied", id, error: { code: "approval_denied", message: "A person said no." } };
      return { status: "waiting", id, escalationId: `escalation-${tool}`, requestHash: "hash-1", expiresAt, url };
    };
    if (shadow === true) {
      const { status } = state();
      const would = { status: status === "denied" || status === "waiting" ? status : "allowed" } as const;
      return Response.json({ status: "allowed", id, grants: [], shadow: would } satisfies ActState);
    }
    if (dryRun === undefined && isHeld && state().status === "waiting") {
      await hold(signal);
      if (signal.aborted) return refusal(499, "request_aborted");
      const taken = claims.get(keyOf(id, request));
      if (taken !== undefined) return replay(taken, request);
    }
    const decided = state();
    if (decided.status !== "allowed" || dryRun === true)
      return Response.json(decided, { status: decided.status === "waiting" ? 202 : 200 });
    if (verdict === "ask") answers.set(question, "used");
    return Response.json(claim(request));
  };

  const finish = (id: string, outcome: ActOutcome): Response => {
    const key = keyOf(id, outcome);
    const known = claims.get(key);
    if (known === undefined) return refusal(404, "not_found");
    if (known.outcome !== undefined && canonicalJson(known.outcome) !== canonicalJson(outcome))
      return refusal(409, "outcome_conflict");
    known.outcome = outcome;
    if (outcome.status === "failed" && outcome.error?.nothingHappened === true) {
      claims.delete(key);
      const question = actOf(known.request);
      if (answers.get(question) === "used") answers.set(question, "yes");
    }
    return Response.json(endOf(id, outcome));
  };

  return {
    ...gate,
    async handler(request) {
      const failure = failures.shift();
      if (failure !== undefined) return failure();
      const { pathname } = new URL(request.url);
      const [, id] = /^\/v1\/acts\/([^/]+)\/outcome$/.exec(pathname) ?? [];
      const body: unknown = await request.json();
      if (id !== undefined) {
        const outcome = ActOutcomeSchema.parse(body);
        gate.finished.push({ id: decodeURIComponent(id), outcome });
        return finish(decodeURIComponent(id), outcome);
      }
      if (pathname !== "/v1/acts") return refusal(404, "not_found");
      const parsed = ActRequestSchema.safeParse(body);
      if (!parsed.success) return refusal(400, "invalid_request");
      const prefer = request.headers.get("prefer");
      gate.begun.push({ request: parsed.data, prefer });
      return begin(parsed.data, prefer !== null, request.signal);
    },
    answer(tool, answer) {
      for (const { request } of gate.begun) if (request.tool === tool) answers.set(actOf(request), answer);
      wake();
    },
    letGo: wake,
    get held() {
      return waiters.size;
    },
    lapse(id) {
      for (const claimed of claims.values()) if (claimed.request.id === id) claimed.isLapsed = true;
    },
    fail: (...responses) => void failures.push(...responses),
  };
}

const url = "https://gate.test/questions/demo/escalation-1";

function keyOf(
  id: string,
  { traceId, executionId }: { traceId?: string | undefined; executionId?: string | undefined },
): string {
  return JSON.stringify([executionId === undefined ? ["trace", traceId] : ["execution", executionId], id]);
}

/** What a person says yes to. */
function actOf({ tool, needs, arguments: given, spends }: ActRequest): string {
  return canonicalJson({ tool, needs, arguments: given ?? null, spends: spends ?? [] } as unknown as JsonValue);
}

function replay({ request, outcome, isLapsed }: Claim, again: ActRequest): Response {
  if (actOf(request) !== actOf(again)) return refusal(409, "replay_conflict");
  if (outcome !== undefined)
    return Response.json(endOf(request.id, outcome), { headers: { "idempotency-replayed": "true" } });
  return isLapsed ? refusal(409, "replay_interrupted") : refusal(409, "replay_pending", { "retry-after": "300" });
}

function endOf(id: string, outcome: ActOutcome): ActState {
  if (outcome.status === "failed")
    return { status: "failed", id, completedAt, ...(outcome.error && { error: outcome.error }) };
  return { status: "succeeded", id, completedAt, ...(outcome.output !== undefined && { output: outcome.output }) };
}

/** An error of the request. */
export function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error: { code, message: `It is ${code}.`, requestId: "request-1" } }, { status, headers });
}
