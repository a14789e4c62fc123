import type { Random } from "../../../packages/turnpike/test/random.ts";
import { noProcess, type Owner, type Scheduler } from "./scheduler.ts";

/** What a link is between: a process and the storage. */
interface LinkEnds {
  scheduler: Scheduler;
  random: Random;
  owner: Owner;
}

/** The connections between a host and its storage. While it is cut nothing comes through, and both ends believe that they are connected. */
export class Link {
  readonly #ends: LinkEnds;
  readonly #held: (() => void)[] = [];
  isCut = false;

  constructor(ends: LinkEnds) {
    this.#ends = ends;
  }

  /** Sends something to the storage. It may have left the process when that is stopped, or not. */
  send(label: string, arrive: () => void): void {
    const { scheduler, random, owner } = this.#ends;
    const arriveWhole = (): void => {
      if (this.isCut) return void this.#held.push(arriveWhole);
      scheduler.enter(noProcess);
      arrive();
    };
    scheduler.add(label, arriveWhole, random.chance(0.5) ? owner : noProcess);
  }

  /** Brings something to the process: at once, as far as it can. The last thing of a step, which is the process's from here on. */
  deliver(settle: () => void): void {
    const { scheduler, owner } = this.#ends;
    if (this.isCut) this.#held.push(() => scheduler.add("late answer", settle, owner));
    else if (scheduler.isStopped(owner)) scheduler.add("late answer", settle, owner);
    else {
      scheduler.enter(owner);
      settle();
    }
  }

  /** Asks the storage for something, and gives up after some time: then it is not done. */
  ask<T>(label: string, work: () => T, patienceMs: number): Promise<T> {
    const { scheduler } = this.#ends;
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = scheduler.setTimer(() => {
        isLate = true;
        reject(new Error("There was no answer in time."));
      }, patienceMs);
      const settle = (end: () => void): void =>
        this.deliver(() => {
          scheduler.clearTimer(timer);
          if (!isLate) end();
        });
      this.send(label, () => {
        if (isLate) return;
        let value: T;
        try {
          value = work();
        } catch (error) {
          settle(() => reject(error as Error));
          return;
        }
        settle(() => resolve(value));
      });
    });
  }

  mend(): void {
    this.isCut = false;
    const { scheduler } = this.#ends;
    for (const resume of this.#held.splice(0)) scheduler.add("late", resume, noProcess);
  }
}
