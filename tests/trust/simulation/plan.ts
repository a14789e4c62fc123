import { createRandom, type Random } from "../../../packages/turnpike/test/random.ts";
import type { Faults } from "./database.ts";
import type { PlannedCall, TurnPlan } from "./effects.ts";
import { items, tenantsOf, type Item } from "./model.ts";

/** Something that a client wants, under an id that it uses again when it asks again. */
export type Action =
  | { kind: "authorize"; item: Item }
  | { kind: "tool"; id: number; call: PlannedCall }
  | { kind: "append"; id: number }
  | { kind: "message"; id: number }
  | { kind: "turn"; id: number; isAsync: boolean; plan: TurnPlan }
  | { kind: "cancel"; id: number }
  | { kind: "list" };

/** Something that an operator does. */
export type OperatorAction =
  | { kind: "issue" }
  | { kind: "revoke"; item: Item }
  | { kind: "revoke credential" }
  | { kind: "answer"; isApproval: boolean };

/** What happens on hosts that are there already: a world of its own, because its tenants are. */
export interface Episode {
  /** Of the tenants that it has to itself. */
  number: number;
  faults: Faults;
  /** Whether a standby that lags takes the place of the storage, where hosts share one. Nothing else happens to it then. */
  failsOver: boolean;
  /** Whether one of the hosts is of the version before, where hosts share a storage, and has to leave. Nothing else happens to it then. */
  isUpgraded: boolean;
  clients: readonly { tenant: string; actions: readonly Action[] }[];
  operators: readonly { tenant: string; actions: readonly OperatorAction[] }[];
}

/** Hosts, and one episode after the other on them. What is not in it follows from its seed. */
export interface Plan {
  seed: number;
  /** Another number is another order of events. */
  order: number;
  /** Whether two hosts share the storage. */
  isShared: boolean;
  /** How far the clock of the second host is off. */
  skewMs: number;
  episodes: readonly Episode[];
}

/** How many episodes the hosts of a plan have: to open hosts takes longer than an episode. */
export const episodesPerPlan = 20;

/** So many plans are tried in every test run. */
export const plansOfSlice = 100;

const itemNames = Object.keys(items) as [Item, ...Item[]];
const likely = ["free", "once", "twice", "twice", "passing", "passing", "fleeting", "asked", "asked", "later"] as const;

/** The plan of a seed. */
export function planOf(seed: number): Plan {
  const random = createRandom(seed);
  return {
    seed,
    order: 0,
    isShared: random.chance(0.6),
    skewMs: random.chance(0.3) ? random.below(8000) - 4000 : 0,
    episodes: Array.from({ length: episodesPerPlan }, (_, number) => episodeOf(random, number)),
  };
}

/** How much happens at most in an episode. Little is soon over: more orders and faults are tried in the same time. */
interface Size {
  tenants: 1 | 2;
  clients: number;
  actions: number;
  /** One of these is how many there are. */
  operators: readonly number[];
  operatorActions: number;
}

const little: Size = { tenants: 1, clients: 1, actions: 1, operators: [0, 0, 0, 1], operatorActions: 1 };
const some: Size = { tenants: 1, clients: 1, actions: 3, operators: [0, 1], operatorActions: 1 };
const crowded: Size = { tenants: 1, clients: 3, actions: 1, operators: [0, 1], operatorActions: 1 };
const much: Size = { tenants: 2, clients: 3, actions: 3, operators: [1, 2], operatorActions: 2 };
const times = (count: number, size: Size): Size[] => Array.from({ length: count }, () => size);
const sizes = [...times(26, little), ...times(3, some), ...times(2, crowded), much];

function episodeOf(random: Random, number: number): Episode {
  const size = random.pickFrom(sizes) ?? little;
  const most = random.pick([0, 10, 25, 50]);
  const rate = (): number => (random.chance(0.6) ? random.below(most + 1) : 0);
  const tenant = (): string => tenantsOf(number)[random.below(size.tenants)] ?? "";
  const upTo = <T>(count: number, make: () => T): T[] => Array.from({ length: 1 + random.below(count) }, make);
  const world = {
    number,
    faults: {
      refuses: rate(),
      losesAnswer: rate(),
      crashes: Math.ceil(rate() / 5),
      isSlow: random.pick([0, 100, 300]),
      pauses: 3 * rate(),
      partitions: 3 * rate(),
    },
    clients: upTo(size.clients, () => ({ tenant: tenant(), actions: upTo(size.actions, () => actionOf(random)) })),
    operators: Array.from({ length: random.pickFrom(size.operators) ?? 0 }, () => ({
      tenant: tenant(),
      actions: upTo(size.operatorActions, () => operatorActionOf(random)),
    })),
  };
  // Few episodes are about one of these.
  const fate = random.below(20);
  return { ...world, failsOver: fate === 0, isUpgraded: fate === 1 };
}

function actionOf(random: Random): Action {
  // Few ids: what one client asks for, another has asked for before, or asks for at the same time.
  const id = random.below(4);
  switch (random.below(10)) {
    case 0:
      return { kind: "authorize", item: random.pick(itemNames) };
    case 1:
    case 2:
    case 3:
      return { kind: "tool", id, call: callOf(random, id) };
    case 4:
      return { kind: "append", id };
    case 5:
      return { kind: "message", id };
    case 6:
    case 7:
    case 8:
      return turnActionOf(random, id);
    default:
      return random.chance(0.5) ? { kind: "cancel", id: turnActionOf(random, id).id } : { kind: "list" };
  }
}

/** The same id is often the same call, so that asking again is a replay; and other ids ask for the same act. */
function callOf(random: Random, id: number): PlannedCall {
  const item = likely[(id * 2 + random.below(4)) % likely.length] ?? "free";
  return { tool: random.chance(0.8) ? "effects.add" : "effects.put", item, tag: `t${id % 2}` };
}

function turnActionOf(random: Random, id: number): Action & { kind: "turn" } {
  const isAsync = random.chance(0.7);
  const place = random.chance(0.7) ? id + 4 : id;
  return { kind: "turn", id: place, isAsync, plan: turnOf(place) };
}

/** The same id is always the same turn: of many calls, or of one. */
function turnOf(id: number): TurnPlan {
  const call = (item: Item, tool = "effects.add"): PlannedCall => ({ tool, item, tag: `t${id}` });
  const plans: readonly TurnPlan["steps"][] = [
    [
      { calls: [call("passing"), call("twice")] },
      { calls: [call("free", "effects.put"), call("free", "effects.read")] },
    ],
    [{ calls: [call("free")] }, { asks: true }, { calls: [call("later"), call("fleeting")] }],
    [{ calls: [call("asked"), call("twice")] }, { calls: [call("passing")] }],
    [{ calls: [call("fleeting"), call("once")] }, { calls: [call("free")] }, { calls: [call("passing")] }],
    [{ calls: [call("free"), call("passing")] }],
    [{ asks: true }, { calls: [call("later")] }],
    [{ calls: [call("asked")] }],
    [{ calls: [call("once")] }, { calls: [call("free", "effects.put")] }],
  ];
  return { steps: plans[id] ?? [] };
}

function operatorActionOf(random: Random): OperatorAction {
  switch (random.below(6)) {
    case 0:
      return { kind: "issue" };
    case 1:
    case 2:
      return { kind: "revoke", item: random.pick(["passing", "fleeting", "twice"]) };
    case 3:
      return { kind: "revoke credential" };
    default:
      return { kind: "answer", isApproval: random.chance(0.7) };
  }
}
