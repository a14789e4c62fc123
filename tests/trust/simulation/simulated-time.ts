import { createRequire, syncBuiltinESMExports } from "node:module";
import { createRandom, type Random } from "../../../packages/turnpike/test/random.ts";
import { worldBegins, type Scheduler } from "./scheduler.ts";

const require = createRequire(import.meta.url);
const timers = require("node:timers/promises") as Record<string, unknown>;
const nodeCrypto = require("node:crypto") as Record<string, unknown>;

/**
 * Gives the process the time of a scheduler, and chance from its random numbers, until the returned function is called: for
 * what asks neither for a clock nor for ids. INVARIANT: nothing of the machine's own time or chance is left to the world.
 */
export function simulateTime(scheduler: Scheduler, random: Random): () => void {
  const MachineDate = Date;
  const chance = createRandom(1);
  const now = (): number => worldBegins + scheduler.now;
  class SimulatedDate extends MachineDate {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [now()] : given) as []));
    }
    static override now(): number {
      return now();
    }
  }
  const setTimer = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): unknown =>
    handleOf(scheduler.setTimer(() => run(...given), ms));
  const setImmediate = (run: (...given: unknown[]) => void, ...given: unknown[]): void =>
    scheduler.add("immediate", () => run(...given));
  const setInterval = (run: () => void, ms: number): unknown => {
    const handle = handleOf(0);
    const again = (): void => {
      handle.id = scheduler.setTimer(again, ms);
      run();
    };
    handle.id = scheduler.setTimer(again, ms);
    return handle;
  };
  const clearTimer = (handle: { id: number } | undefined): void => {
    if (handle !== undefined) scheduler.clearTimer(handle.id);
  };
  const bytes = (size: number): Buffer => {
    const drawn = Buffer.allocUnsafe(size);
    for (let place = 0; place < size; place += 1) drawn[place] = random.below(256);
    return drawn;
  };
  const randomUUID = (): string => {
    const hex = bytes(16).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  const restores = [
    replace(globalThis, {
      Date: SimulatedDate,
      setTimeout: setTimer,
      clearTimeout: clearTimer,
      setInterval,
      clearInterval: clearTimer,
      setImmediate,
      clearImmediate() {},
    }),
    replace(performance, { now: () => scheduler.now }),
    replace(crypto, { randomUUID }),
    // From numbers of its own: what is drawn once a process must not move what else is drawn.
    replace(Math, { random: () => chance.below(2 ** 30) / 2 ** 30 }),
    replace(nodeCrypto, { randomUUID, randomBytes: bytes }),
    replace(timers, {
      setTimeout: (ms: number, value: unknown) => scheduler.wait(ms).then(() => value),
      setImmediate: (value: unknown) => scheduler.pause("immediate").then(() => value),
    }),
  ];
  syncBuiltinESMExports();
  return () => {
    for (const restore of restores.toReversed()) restore();
    syncBuiltinESMExports();
  };
}

/** What a timer is known by; nothing keeps the process of a world alive. */
function handleOf(id: number) {
  const handle = { id, ref: () => handle, unref: () => handle, hasRef: () => false };
  return handle;
}

function replace(owner: object, replacements: Readonly<Record<string, unknown>>): () => void {
  const before = Object.keys(replacements).map((name) => [name, Object.getOwnPropertyDescriptor(owner, name)] as const);
  for (const [name, value] of Object.entries(replacements))
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    for (const [name, descriptor] of before) {
      if (descriptor === undefined) delete (owner as Record<string, unknown>)[name];
      else Object.defineProperty(owner, name, descriptor);
    }
  };
}
