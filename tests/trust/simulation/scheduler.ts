import type { Random } from "../../../packages/turnpike/test/random.ts";

/** Whose something is: a process, which can be paused and end. What a process does is its own, and so is what follows from it. */
export type Owner = object;

/** Clients, the storage and whatever else is no process that can be paused. */
export const noProcess: Owner = {};

/** Something that may happen now. */
interface Task {
  label: string;
  owner: Owner;
  run(): void;
}

interface Timer {
  at: number;
  /** Timers of one instant fire in the order in which they were set. */
  order: number;
  owner: Owner;
  run(): void;
}

/** When the world begins. */
export const worldBegins: number = Date.parse("2026-01-01T00:00:00.000Z");

const runMicrotasks = process.nextTick.bind(process);

/**
 * Decides what happens next: which of the things that may happen now, or the next timer when there are none. The order
 * depends on nothing but the random numbers, and time passes only here.
 */
export class Scheduler {
  /** Milliseconds since the world began. */
  now = 0;
  steps = 0;
  readonly #random: Random;
  #ready: Task[] = [];
  /** What waits until a paused process goes on. */
  readonly #stopped = new Map<Owner, Task[]>();
  readonly #ended = new WeakSet<Owner>();
  #owner: Owner = noProcess;
  readonly #timers = new Map<number, Timer>();
  readonly #onStep: (label: string) => void;
  #lastTimer = 0;
  /** The timer that fires next; null when that has to be searched. */
  #next: Timer | undefined | null;

  constructor(random: Random, onStep: (label: string) => void) {
    this.#random = random;
    this.#onStep = onStep;
  }

  /** Lets something happen, some time. */
  add(label: string, run: () => void, owner: Owner = this.#owner): void {
    if (!this.#ended.has(owner)) (this.#stopped.get(owner) ?? this.#ready).push({ label, owner, run });
  }

  /** Resolves some time. */
  pause(label: string, owner: Owner = this.#owner): Promise<void> {
    return new Promise((resolve) => this.add(label, resolve, owner));
  }

  /** Lets an owner do something, some time, and what follows from it. */
  runAs<T>(label: string, owner: Owner, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => this.add(label, () => resolve(work()), owner));
  }

  /** From here on this step is of another owner. */
  enter(owner: Owner): void {
    this.#owner = owner;
  }

  /** Resolves after so many milliseconds. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.setTimer(resolve, ms));
  }

  setTimer(run: () => void, ms: number, owner: Owner = this.#owner): number {
    this.#lastTimer += 1;
    if (this.#ended.has(owner)) return this.#lastTimer;
    const timer = { at: this.now + Math.max(1, ms), order: this.#lastTimer, owner, run };
    this.#timers.set(timer.order, timer);
    if (this.#next !== null && (this.#next === undefined || timer.at < this.#next.at)) this.#next = timer;
    return this.#lastTimer;
  }

  /** Lets a process stand still: time goes on, and nothing that is its own happens before `go`. */
  stop(owner: Owner): void {
    if (this.#stopped.has(owner)) return;
    this.#stopped.set(
      owner,
      this.#ready.filter((task) => task.owner === owner),
    );
    this.#ready = this.#ready.filter((task) => task.owner !== owner);
  }

  isStopped(owner: Owner): boolean {
    return this.#stopped.has(owner);
  }

  go(owner: Owner): void {
    const held = this.#stopped.get(owner) ?? [];
    this.#stopped.delete(owner);
    this.#ready.push(...held);
  }

  /** Nothing that is a process's own happens any more. */
  end(owner: Owner): void {
    this.#ended.add(owner);
    this.#stopped.delete(owner);
    this.#ready = this.#ready.filter((task) => task.owner !== owner);
    for (const [order, timer] of this.#timers) if (timer.owner === owner) this.clearTimer(order);
  }

  clearTimer(id: number): void {
    this.#timers.delete(id);
    if (this.#next?.order === id) this.#next = null;
  }

  /** Takes steps until something is so. False when it has not become so within so many steps. */
  async runUntil(isOver: () => boolean, maxSteps: number): Promise<boolean> {
    for (let step = 0; step < maxSteps; step += 1) {
      // Whatever follows from the last step has happened when this comes.
      await new Promise<void>(runMicrotasks);
      this.#owner = noProcess;
      if (isOver()) return true;
      if (!this.#step()) return false;
    }
    return false;
  }

  #step(): boolean {
    const due = this.#nextTimer();
    const isTimer = due !== undefined && (this.#ready.length === 0 || (due.at <= this.now && this.#random.chance(0.3)));
    this.steps += 1;
    if (isTimer) {
      this.clearTimer(due.order);
      this.now = Math.max(this.now, due.at);
      this.#onStep("timer");
      const stopped = this.#stopped.get(due.owner);
      if (stopped !== undefined) stopped.push({ label: "late timer", owner: due.owner, run: due.run });
      else {
        this.#owner = due.owner;
        due.run();
      }
      return true;
    }
    const place = this.#random.below(this.#ready.length);
    const task = this.#ready[place];
    if (task === undefined) return false;
    const last = this.#ready.pop() as Task;
    if (last !== task) this.#ready[place] = last;
    if (this.#random.chance(0.3)) this.now += 1 + this.#random.below(3);
    this.#onStep(task.label);
    this.#owner = task.owner;
    task.run();
    return true;
  }

  #nextTimer(): Timer | undefined {
    if (this.#next !== null) return this.#next;
    this.#next = undefined;
    for (const timer of this.#timers.values())
      if (this.#next === undefined || timer.at < this.#next.at) this.#next = timer;
    return this.#next;
  }
}
