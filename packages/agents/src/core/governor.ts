import type { Gate, GateAct } from "turnpike/client";
import type { Amount, JsonObject, JsonValue } from "turnpike/contracts";
import { readNeeds, type Needs, type NeedsOfCall } from "./needs.ts";
import { refusalOf } from "./refusal.ts";

/** How the tools of an agent are governed. */
export interface GovernOptions<Name extends string = string> {
  /** What the calls of a tool need, such as `send mail/$to`; `call agent.tools/<name>` for a tool that is not named here. */
  needs?: { readonly [Tool in Name]?: Needs };
  /** Whether the calls of a tool change anything; true for a tool that is not named here. */
  write?: { readonly [Tool in Name]?: boolean };
  /** What a call of a tool costs. */
  spends?: { readonly [Tool in Name]?: readonly Amount[] | ((args: JsonObject) => readonly Amount[]) };
  /** For how many seconds a call waits for a person who has to approve it; 0 when absent. */
  wait?: number;
  /** What the framework's call ids are unique in, such as a conversation; what the framework calls a run when absent. */
  run?: string;
  /** Carries out every call, and records what would have been decided. */
  shadow?: boolean;
}

/** A call of one tool, as a framework describes it. */
export interface AgentCall {
  tool: string;
  /** The framework's id of the call; a random one when it has none. */
  id: string | undefined;
  /** What the framework calls the run. */
  run?: string | undefined;
  arguments: unknown;
  signal?: AbortSignal | undefined;
}

/** Decides about the calls of an agent before they have an effect. */
export interface Governor {
  /** Carries out a call if the gate allows it. Throws a `ToolRefusedError`, or what the effect throws. */
  run<Output>(call: AgentCall, effect: () => Output | Promise<Output>): Promise<Output>;
  /** Whether a person has to approve a call that does not wait for them. Asks them. Only the gate's answer counts, at `run`. */
  asks(call: AgentCall): Promise<boolean>;
}

export function createGovernor(gate: Gate, names: readonly string[], options: GovernOptions): Governor {
  checkNames(names, options);
  const { needs, write, spends, wait = 0, run, shadow = false } = options;
  const known = new Map<string, NeedsOfCall>(names.map((tool) => [tool, readNeeds(tool, needs?.[tool])]));

  const actOf = (call: AgentCall): GateAct => {
    const args = argumentsOf(call.arguments);
    const id = call.id ?? crypto.randomUUID();
    const costs = spends?.[call.tool];
    const amounts = typeof costs === "function" ? costs(args) : costs;
    return {
      id,
      tool: call.tool,
      needs: (known.get(call.tool) ?? readNeeds(call.tool, needs?.[call.tool]))(args),
      arguments: args,
      traceId: run ?? call.run ?? id,
      ...(write?.[call.tool] === false && { write: false }),
      ...(amounts && { spends: [...amounts] }),
      ...(shadow && { shadow: true }),
    };
  };

  return {
    async run<Output>(call: AgentCall, effect: () => Output | Promise<Output>): Promise<Output> {
      let thrown: { error: unknown } | undefined;
      const perform = async (): Promise<Output> => {
        try {
          return await effect();
        } catch (error) {
          thrown = { error };
          throw error;
        }
      };
      try {
        return await gate.run(actOf(call), perform, { signal: call.signal, wait });
      } catch (error) {
        if (thrown?.error === error || call.signal?.aborted === true) throw error;
        // In shadow a call that the gate cannot even be told of is carried out.
        if (shadow && thrown === undefined) return effect();
        throw refusalOf(error);
      }
    },
    async asks(call) {
      if (wait > 0 || shadow) return false;
      try {
        const { signal } = call;
        const act = actOf({ ...call, id: undefined });
        const { status } = await gate.begin({ ...act, dryRun: true }, { signal });
        return status === "waiting" && (await open(gate, act, signal));
      } catch {
        // What cannot be asked is decided when the call is run.
        return false;
      }
    },
  };
}

/** Asks the person. An approval that arrives in between is given back, for the call that it is meant for. */
async function open(gate: Gate, act: GateAct, signal: AbortSignal | undefined): Promise<boolean> {
  const { status, id } = await gate.begin(act, { signal });
  if (status !== "allowed") return status === "waiting";
  const error = { code: "cancelled", message: "It was only asked for.", nothingHappened: true } as const;
  await gate.finish(id, { traceId: act.traceId ?? id, status: "failed", error });
  return false;
}

/** A misspelled name would leave a tool with other needs than was meant. */
function checkNames(names: readonly string[], { needs, write, spends }: GovernOptions): void {
  for (const [option, named] of Object.entries({ needs, write, spends }))
    for (const name of Object.keys(named ?? {}))
      if (!names.includes(name)) throw new TypeError(`${option} names ${name}, which is none of the tools.`);
}

function argumentsOf(given: unknown): JsonObject {
  const value = JSON.parse(JSON.stringify(given ?? {})) as JsonValue;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { input: value };
}
