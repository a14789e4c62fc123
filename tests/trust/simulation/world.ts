import { createRandom, type Random } from "../../../packages/turnpike/test/random.ts";
import { ownEpoch } from "../../../packages/host/src/storage/migrate.ts";
import { noFaults, nothingHappened, WriteLock, type FaultCounts, type SharedParts } from "./database.ts";
import { effectTools, plannedRuntime } from "./effects.ts";
import { GoneError, SimulatedHost, type Answer, type WireCall } from "./host.ts";
import type { Premises } from "./premises.ts";
import { anyTenant, Model } from "./model.ts";
import type { Episode, Plan } from "./plan.ts";
import type { Population } from "./population.ts";
import { noProcess, Scheduler } from "./scheduler.ts";
import { simulateTime } from "./simulated-time.ts";
import type { Storage } from "./storage.ts";
import { TurnOwners } from "./turn-owners.ts";

/** More steps than any world that ends needs. */
const maxSteps = 60_000;

/** Hosts on one storage, those who ask them for things, and what they have been promised. */
export class World {
  readonly scheduler: Scheduler;
  readonly model: Model;
  readonly random: Random;
  readonly storage: Storage;
  readonly trace: string[] = [];
  readonly faults: FaultCounts = { ...nothingHappened };
  readonly population: Population;
  /** Results that a host could not store yet, and how many had crashed by then. */
  readonly #unstored = new Map<string, number>();
  readonly #opening = new Map<number, Promise<void>>();
  readonly #hosts: (SimulatedHost | undefined)[] = [];
  /** The epoch of the version that is started at a place. */
  readonly #epochs = new Map<number, number>();
  readonly #premises: Premises;
  readonly #plan: Plan;
  readonly #parts: SharedParts & { lock: WriteLock; log(facts: object, message: string): void };
  readonly #giveBackTime: () => void;

  constructor(plan: Plan, premises: Premises) {
    const { storage, population } = premises;
    [this.#plan, this.storage, this.population, this.#premises] = [plan, storage, population, premises];
    this.random = createRandom((plan.seed + Math.imul(plan.order, 0x9e3779b1)) ^ 0x5bd1e995);
    this.scheduler = new Scheduler(this.random, (label) => void this.trace.push(label));
    this.model = new Model(this.scheduler, storage);
    this.#parts = {
      scheduler: this.scheduler,
      storage,
      random: this.random,
      faults: noFaults,
      counts: this.faults,
      isShared: plan.isShared,
      owners: new TurnOwners(storage, (what) => this.model.violated(what)),
      lock: new WriteLock(),
      log: (facts, message) => this.#log(facts as { id?: string; executionId?: string }, message),
    };
    storage.reset(() => this.scheduler.now / 1000);
    this.#giveBackTime = simulateTime(this.scheduler, createRandom(plan.seed ^ 0x2545f491));
  }

  note(what: string): void {
    this.trace.push(what);
  }

  /** Opens the hosts, while nothing fails. */
  async begin(): Promise<void> {
    await this.complete("the beginning", async () => {
      for (let place = 0; place < (this.#plan.isShared ? 2 : 1); place += 1) await this.#open(place);
    });
  }

  /** Runs something to its end. */
  async complete(name: string, work: () => Promise<unknown>): Promise<void> {
    let isOver = false;
    let problem: unknown;
    const end = (error?: unknown): void => void ([isOver, problem] = [true, error]);
    work().then(() => end(), end);
    if (!(await this.scheduler.runUntil(() => isOver || this.model.violations.length > 0, maxSteps)))
      this.model.violated(`${name} does not come to its end`);
    if (problem !== undefined) throw problem;
  }

  /** From here on storage does so many faults. */
  suffer(faults: Episode["faults"]): void {
    this.#unstored.clear();
    this.#parts.faults = faults;
  }

  calm(): void {
    this.#parts.faults = noFaults;
  }

  get isShared(): boolean {
    return this.#plan.isShared;
  }

  /** The storage goes back to where a standby is that lags. */
  failOver(): void {
    this.model.wentBack(this.storage.failOver());
    this.#parts.lock.clear();
  }

  /** Says from which epoch on versions may serve, between the transactions of hosts. */
  async allowFrom(epoch: number): Promise<void> {
    const mine = {};
    while (!this.#parts.lock.isFree(mine)) await this.scheduler.wait(1);
    this.storage.allowFrom(epoch);
  }

  /** Replaces a host by one of the version of another epoch. */
  async replace(place: number, epoch: number): Promise<void> {
    this.#epochs.set(place, epoch);
    this.#hosts[place]?.crash();
    this.#hosts[place] = undefined;
    await this.reopenAll();
  }

  /** From here on a host may begin and end nothing: a newer version has changed the storage. */
  exclude({ id }: SimulatedHost): void {
    this.#parts.owners.exclude(id);
  }

  /** Starts hosts again that are gone, and waits until each is seen. */
  async reopenAll(): Promise<void> {
    for (const place of this.#hosts.keys()) while (this.#hosts[place] === undefined) await this.#open(place);
    while (this.hosts.some(({ id }) => !this.storage.beats.living().includes(id))) await this.scheduler.wait(500);
  }

  get hosts(): SimulatedHost[] {
    return this.#hosts.filter((host) => host !== undefined);
  }

  /** One of the hosts, but none of these unless there is no other. */
  placeBut(others: readonly number[]): number {
    const left = [...this.#hosts.keys()].filter((place) => !others.includes(place));
    return this.random.pickFrom(left) ?? this.random.below(this.#hosts.length);
  }

  /** Sends a request to a host, and checks what holds for every answer. Undefined when none came. */
  async send(tenant: string, call: WireCall, place = this.placeBut([])): Promise<Answer | undefined> {
    if (this.#hosts[place] === undefined && this.random.chance(0.5)) await this.#open(place);
    const host = this.#hosts[place];
    if (host === undefined) return undefined;
    try {
      const answer = await host.send(call);
      this.#check(tenant, call, answer);
      return answer;
    } catch (error) {
      if (!(error instanceof GoneError)) throw error;
      this.model.count("connections lost");
      return undefined;
    }
  }

  /** What comes within so many milliseconds. */
  within<T>(ms: number, work: Promise<T>): Promise<T | "late"> {
    const { scheduler } = this;
    return new Promise((resolve, reject) => {
      const timer = scheduler.setTimer(() => resolve("late"), ms, noProcess);
      work.then(resolve, reject).finally(() => scheduler.clearTimer(timer));
    });
  }

  end(): void {
    for (const host of this.hosts) host.crash();
    this.#giveBackTime();
  }

  #log(facts: { id?: string; executionId?: string }, message: string): void {
    this.note(`log: ${message} ${JSON.stringify(facts)}`);
    const isOfTurn = message === "could not run turn to its end, its result has the code";
    const unstored = isOfTurn ? facts.executionId : facts.id;
    if (unstored !== undefined && (isOfTurn || message === "could not store result for replay, will retry"))
      this.#unstored.set(unstored, this.faults.crashes);
  }

  /**
   * Whether a result was given that could not be stored, and no one may try any more, because its process has ended. Where hosts share a
   * storage no result is given before it is stored.
   */
  mayBeLost(id: string): boolean {
    const crashes = this.#unstored.get(id);
    return !this.#plan.isShared && crashes !== undefined && this.faults.crashes > crashes;
  }

  /** Opens a host at a place, where there is never more than one. */
  #open(place: number): Promise<void> {
    const opening = this.#opening.get(place) ?? this.#openNow(place).finally(() => this.#opening.delete(place));
    this.#opening.set(place, opening);
    return opening;
  }

  async #openNow(place: number): Promise<void> {
    const { scheduler, random, model } = this;
    const parts = { scheduler, random, model };
    const skewMs = place === 0 ? 0 : this.#plan.skewMs;
    const effects = {
      tools: (isGone: () => boolean) => effectTools(parts, isGone),
      runtime: (isGone: () => boolean) => plannedRuntime(parts, isGone),
    };
    const onCrash = (): void => void (this.#hosts[place] = undefined);
    this.#hosts[place] = undefined;
    const epoch = this.#epochs.get(place) ?? ownEpoch;
    const host = await SimulatedHost.open(this.#premises, this.#parts, effects, { skewMs, epoch, onCrash });
    if (host?.isGone === false) this.#hosts[place] = host;
  }

  #check(tenant: string, { method, path }: WireCall, { status, text }: Answer): void {
    const other = text.match(anyTenant)?.find((name) => name !== tenant);
    if (other !== undefined) this.model.violated(`${method} ${path} told ${tenant} of ${other}: ${text.slice(0, 300)}`);
    if (status >= 500 && status !== 503)
      this.model.violated(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
  }
}
