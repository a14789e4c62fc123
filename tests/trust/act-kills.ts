import { once, setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { ask, type Answer } from "../../packages/host/test/host-calls.ts";
import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import { placeFor, startEffectHost, type HostSettings } from "../support/effect-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { makeCredential, makeGrant } from "../support/host-world.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "./suite.ts";

/** So many kills have one database; then everything that was acknowledged is held against it. */
const killsOfWorld = 10;
/** The pause before a request that was cut off is sent again. */
const retryMs = 100;
/** How many acts are under way at each kill. */
const actsAtOnce = 6;
const tenant = "acme";

/** An act as its caller knows it, who retries each request that was cut off. */
interface Caller {
  id: string;
  /** How often its effect happened. */
  effects: number;
  /** Whether a request to begin was cut off, or failed, so that the host may have taken the id without saying so. */
  mayBeTaken: boolean;
  /** Whether one failed on a host that lives, which gives back what it could tell no one of. */
  mayBeGivenBack: boolean;
  state: "beginning" | "allowed" | "given back" | "refused" | "unknown" | "finished";
}

/** Hosts on one database that are killed while callers begin acts, carry them out, and report them. */
class ActWorld {
  readonly callers: Caller[] = [];
  readonly problems: string[] = [];
  readonly #folder = makeFolder();
  readonly #settings: HostSettings;
  readonly #hosts: HostProcess[] = [];
  readonly #events = new EventTarget();
  #token = "";
  #answers = 0;

  private constructor(settings: HostSettings) {
    this.#settings = settings;
    // All callers of a round may wait at once.
    setMaxListeners(0, this.#events);
  }

  static async start(count: number, settings: HostSettings): Promise<ActWorld> {
    const world = new ActWorld(settings);
    for (let place = 0; place < count; place += 1) await world.startHost();
    const [host] = world.#hosts as [HostProcess];
    await makeGrant(host, { id: "run", tenant, resource: "shell", actions: ["run"], maxUses: 1_000_000 });
    ({ token: world.#token } = await makeCredential(host, { tenant }));
    return world;
  }

  async startHost(): Promise<void> {
    this.#hosts.push(await startEffectHost(this.#folder, this.#settings));
    this.#events.dispatchEvent(new Event("started"));
  }

  async kill(place: number): Promise<void> {
    const [host] = this.#hosts.splice(place % this.#hosts.length, 1);
    await host?.stop("SIGKILL");
  }

  async stop(): Promise<void> {
    for (const host of this.#hosts) await host.stop();
  }

  /** Resolves after so many more answers, or when `ended` does. */
  async answered(count: number, ended: Promise<unknown>): Promise<void> {
    const until = this.#answers + count;
    const counted = async (): Promise<void> => {
      while (this.#answers < until) await once(this.#events, "answer");
    };
    await Promise.race([counted(), ended]);
  }

  /** Sends until there is an answer, to whichever host there is. Says whether a request was cut off, and whether one failed. */
  async #send(path: string, body?: object): Promise<{ answer: Answer; wasCutOff: boolean; hasFailed: boolean }> {
    let [wasCutOff, hasFailed] = [false, false];
    for (;;) {
      const host = this.#hosts[this.#answers % Math.max(1, this.#hosts.length)];
      if (host === undefined) {
        await once(this.#events, "started");
        continue;
      }
      try {
        const headers = { "x-trace-id": "t" };
        const answer = await ask(host.url, path, { token: this.#token, headers, ...(body && { body }) });
        this.#answers += 1;
        this.#events.dispatchEvent(new Event("answer"));
        if (answer.status < 500) return { answer, wasCutOff, hasFailed };
        // The database may have committed without saying so in time.
        hasFailed = true;
      } catch {
        wasCutOff = true;
        // A host that was killed is replaced. One that lives is asked again, also when all callers were cut off by it.
        await Promise.race([host.ended, once(this.#events, "started"), delay(retryMs)]);
      }
    }
  }

  async begin(caller: Caller): Promise<Answer> {
    const { id } = caller;
    const needs = [{ action: "run", resource: { namespace: "shell", path: ["deploy"] } }];
    const body = { version: 1, id, tool: "deploy", needs, requestedAt: "2026-01-01T00:00:00Z", traceId: "t" };
    const { answer, wasCutOff, hasFailed } = await this.#send("/v1/acts", { ...body, leaseSeconds: 86_400 });
    caller.mayBeTaken ||= wasCutOff || hasFailed;
    caller.mayBeGivenBack ||= hasFailed;
    return answer;
  }

  async report(id: string, outcome: object): Promise<Answer> {
    return (await this.#send(`/v1/acts/${id}/outcome`, { version: 1, traceId: "t", ...outcome })).answer;
  }

  async read(id: string): Promise<Answer> {
    return (await this.#send(`/v1/acts/${id}?traceId=t`)).answer;
  }

  expect(caller: Caller, what: string, answer: Answer, isRight: boolean): void {
    if (!isRight) this.problems.push(`${caller.id}, ${what}: ${answer.status} ${answer.text}`);
  }

  /** One act from its beginning to its end, and once more. */
  async play(caller: Caller, random: Random): Promise<void> {
    const begun = await this.begin(caller);
    if (statusOf(begun) === "denied" && bodyOf(begun).error?.retryable === true) {
      // A database that does not answer in time denies, and takes nothing.
      caller.state = "refused";
      return;
    }
    if (statusOf(begun) !== "allowed") {
      // Only the caller's own request can have taken the id.
      this.expect(caller, "begun", begun, caller.mayBeTaken && codeOf(begun) === "replay_pending");
      caller.state = "unknown";
      return;
    }
    caller.state = "allowed";
    if (random.chance(0.2)) {
      const error = { code: "no_disk", message: "No space.", nothingHappened: true };
      const freed = await this.report(caller.id, { status: "failed", error });
      this.expect(caller, "given back", freed, statusOf(freed) === "failed");
      caller.state = "given back";
      return;
    }
    caller.effects += 1;
    const again = await this.begin(caller);
    this.expect(caller, "begun again", again, codeOf(again) === "replay_pending");
    const outcome = { status: "succeeded", output: caller.id };
    const reported = await this.report(caller.id, outcome);
    this.expect(caller, "reported", reported, statusOf(reported) === "succeeded");
    caller.state = "finished";
    const other = await this.report(caller.id, { status: "failed" });
    this.expect(caller, "reported otherwise", other, codeOf(other) === "outcome_conflict");
  }

  /** What does not hold of the acts whose callers were answered. */
  async check(): Promise<void> {
    for (const caller of this.callers) {
      const { id, state, mayBeTaken, mayBeGivenBack } = caller;
      const now = await this.read(id);
      const again = await this.begin({ ...caller });
      const isTaken = codeOf(again) === "replay_pending";
      const isFree = statusOf(again) === "allowed";
      if (caller.effects > 1) this.problems.push(`${id} had ${caller.effects} effects`);
      switch (state) {
        case "finished":
          this.expect(caller, "read", now, statusOf(now) === "succeeded" && bodyOf(now).output === id);
          this.expect(caller, "replayed", again, again.headers.get("idempotency-replayed") === "true");
          break;
        case "given back":
          this.expect(caller, "read", now, statusOf(now) === "failed");
          this.expect(caller, "begun anew", again, isFree);
          break;
        case "refused":
          // An earlier request of the same caller may have been carried out after the refusal.
          this.expect(caller, "read", now, codeOf(now) === "not_found" || (mayBeTaken && isKnown(now)));
          this.expect(caller, "asked again", again, isFree || (mayBeTaken && isTaken));
          break;
        case "unknown":
          this.expect(caller, "read", now, isKnown(now));
          this.expect(caller, "asked again", again, isTaken || (isFree && mayBeGivenBack));
          break;
        default:
          this.problems.push(`${id} was never answered`);
      }
    }
    await this.#checkAuditLog();
  }

  /** Each outcome that was acknowledged is one event, each beginning one decision, and the log is whole. */
  async #checkAuditLog(): Promise<void> {
    const [host] = this.#hosts as [HostProcess];
    const token = host.operatorToken();
    const { body } = await ask(host.url, `/admin/v1/audit/verify?namespaceId=${tenant}`, { token });
    if ((body as { isWhole?: boolean }).isWhole !== true) this.problems.push(`the audit log: ${JSON.stringify(body)}`);
    const finished = new Map<string, number>();
    let before: string | undefined;
    do {
      const query = new URLSearchParams({ namespaceId: tenant, type: "act.finished", limit: "200" });
      if (before !== undefined) query.set("before", before);
      const page = (await ask(host.url, `/admin/v1/audit?${query.toString()}`, { token })).body as AuditPage;
      for (const { event } of page.events) finished.set(event.operationId, (finished.get(event.operationId) ?? 0) + 1);
      before = page.next;
    } while (before !== undefined);
    for (const { id, state } of this.callers) {
      const expected = state === "finished" || state === "given back" ? 1 : 0;
      if (state !== "unknown" && (finished.get(id) ?? 0) !== expected)
        this.problems.push(`${id} is ${state}, with ${finished.get(id) ?? 0} outcomes in the audit log`);
    }
  }
}

interface AuditPage {
  events: { event: { operationId: string } }[];
  next?: string;
}

/** An act that was taken without its caller being told, or given back since. */
function isKnown(answer: Answer): boolean {
  return (
    statusOf(answer) === "allowed" ||
    (statusOf(answer) === "failed" && bodyOf(answer).error?.code === "request_aborted")
  );
}

interface Body {
  status?: string;
  output?: unknown;
  error?: { code: string; retryable?: boolean };
}

function bodyOf({ body }: Answer): Body {
  return (body ?? {}) as Body;
}

function statusOf(answer: Answer): string | undefined {
  return answer.status === 200 ? bodyOf(answer).status : undefined;
}

function codeOf(answer: Answer): string | undefined {
  return answer.status === 200 ? undefined : bodyOf(answer).error?.code;
}

/** Kills a host on SQLite, or, for an odd seed, one of two on one PostgreSQL, at another point of the acts each time. */
async function killAmongActs({ seed, isOver }: Trial): Promise<WorldOutcome> {
  const kind = seed % 2 === 0 ? "sqlite" : "postgres";
  const random = createRandom(seed);
  const world = await ActWorld.start(kind === "sqlite" ? 1 : 2, await placeFor(kind));
  let kills = 0;
  do {
    kills += 1;
    const callers = Array.from({ length: actsAtOnce }, (_, place): Caller => {
      return { id: `act-${kills}-${place}`, effects: 0, mayBeTaken: false, mayBeGivenBack: false, state: "beginning" };
    });
    world.callers.push(...callers);
    const played = Promise.all(callers.map((caller) => world.play(caller, random)));
    await world.answered(random.below(actsAtOnce * 4), played);
    await world.kill(random.below(2));
    await world.startHost();
    await played;
  } while (kills < killsOfWorld && !isOver());
  await world.check();
  await world.stop();
  const count = (state: Caller["state"]): number => world.callers.filter((one) => one.state === state).length;
  const counts = {
    kills,
    acts: world.callers.length,
    finished: count("finished"),
    "given back": count("given back"),
    "refused for a while": count("refused"),
    "taken by a request that was cut off": count("unknown"),
  };
  return { counts, problems: world.problems.map((what) => `on ${kind}: ${what}`) };
}

/** Hosts that are killed while acts begin, are carried out by their callers, and are reported. */
export const actKills: Suite = {
  name: "act-kills",
  says:
    "A host is killed between the beginning of an act, its effect and its outcome. No act is handed out twice, none is taken from " +
    "the caller that it was given to, and each outcome that was acknowledged is there, once.",
  share: 1,
  run: (trial) => runWorlds("act-kills", trial, killAmongActs),
};
