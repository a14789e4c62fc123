import type { Random } from "../../../packages/turnpike/test/random.ts";

/** Something that may happen now. */
interface Task {
  label: string;
  run(): void;
}

interface Timer {
  at: number;
  /** Timers of one instant fire in the order in which they were set. */
  order: number;
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
  readonly #ready: Task[] = [];
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
  add(label: string, run: () => void): void {
    this.#ready.push({ label, run });
  }

  /** Resolves some time. */
  pause(label: string): Promise<void> {
    return new Promise((resolve) => this.add(label, resolve));
  }

  /** Resolves after so many milliseconds. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.setTimer(resolve, ms));
  }

  setTimer(run: () => void, ms: number): number {
    this.#lastTimer += 1;
    const timer = { at: this.now + Math.max(1, ms), order: this.#lastTimer, run };
    this.#timers.set(timer.order, timer);
    if (this.#next !== null && (this.#next === undefined || timer.at < this.#next.at)) this.#next = timer;
    return this.#lastTimer;
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
      due.run();
      return true;
    }
    const place = this.#random.below(this.#ready.length);
    const task = this.#ready[place];
    if (task === undefined) return false;
    const last = this.#ready.pop() as Task;
    if (last !== task) this.#ready[place] = last;
    if (this.#random.chance(0.3)) this.now += 1 + this.#random.below(3);
    this.#onStep(task.label);
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
