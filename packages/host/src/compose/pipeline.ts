import type { AccessContext, ActState, DiscoveryContext } from "turnpike/contracts";
import { acceptContext, type ServiceApi, type ServiceApiCallOptions } from "turnpike/http";
import type {
  ActStore,
  AuditSink,
  DecisionLedger,
  Kernel,
  ResourceProvider,
  ToolHandler,
  ToolProvider,
  TurnScope,
} from "turnpike/kernel";
import type { RuntimePlugin } from "turnpike/runtime";
import { type HostAccessGuard, limitSenders, recordOf, requireAdmitted } from "../access/index.ts";
import { type HeldCalls, holdCalls } from "../escalations/index.ts";
import { type LossStore, protectFromReplay, refuseOnLoss, type ReplayStore } from "../ledger/index.ts";
import {
  countAuditEvents,
  countDecisions,
  countOutcomes,
  errorFacts,
  type Log,
  measureTurns,
  type Metrics,
  traceActs,
  traceAuditedDecisions,
  traceDecisions,
  traceMcpServer,
  traceResources,
  traceSteps,
  traceTool,
  traceTurns,
  type Tracing,
} from "../telemetry/index.ts";
import { hideNamespaces } from "../tool-namespaces/index.ts";
import {
  answerKnownTurns,
  limitTurns,
  type TurnEngine,
  type TurnJournalStore,
  type TurnSlots,
  type OutdatedHost,
  writeEventsWithTurns,
} from "../turns/index.ts";
import type { Stores } from "./stores.ts";

// Everything that this host puts around operations and ports, the outermost first. Nothing is wrapped elsewhere.

/** What the layers around the service use. */
export interface PipelineParts {
  access: Pick<HostAccessGuard, "watchTurns">;
  slots: TurnSlots;
  replay: ReplayStore;
  losses: Pick<LossStore, "requireWhole">;
  turns: TurnJournalStore;
  outdated: OutdatedHost;
  held: HeldCalls;
  /** As `Stores.attempt`. */
  attempt: Stores["attempt"];
  /** The context of an earlier call as it is now. */
  contextNow(context: AccessContext): Promise<AccessContext>;
  clock(): Date;
  isHidden: Parameters<typeof hideNamespaces>[1];
  metrics: Metrics;
  tracing?: Tracing | undefined;
  /** The MCP servers that a caller has, and that are not there right now. */
  unavailable(context: DiscoveryContext): readonly string[];
  /** Where a person answers an escalation. */
  urlOf(namespaceId: string, escalationId: string): string;
  log: Log;
  onSlotError(error: unknown): void;
}

/** One thing that is done around operations. An operation that is not named passes it by. */
export interface Layer {
  name: string;
  wraps: readonly (keyof ServiceApi)[];
  wrap(api: ServiceApi): ServiceApi;
}

const effects = ["invokeTool", "invokeResource", "sendMessage"] as const;

/** The layers around an operation that a caller asks for. Those around runs of turns are inside them. */
export function requestLayers(parts: PipelineParts & { engine: Pick<TurnEngine, "watch"> }): Layer[] {
  const { replay, losses, turns, engine, outdated, held, attempt, contextNow, clock, unavailable, urlOf, log } = parts;
  const begun = [...effects, "beginAct", "finishAct", "executeTurn"] as const;
  return [
    // Around all others, because a call that was held passes them anew.
    {
      name: "hold calls that wait for a person",
      wraps: ["beginAct"],
      wrap: (api) =>
        holdCalls(api, {
          held,
          attempt,
          credentialOf,
          async contextNow(context, call) {
            await requireAdmitted(recordOf(call)?.caller, clock());
            return contextNow(context);
          },
        }),
    },
    // The first that refuses: what a host finishes that is too old for its database includes that its result is stored.
    { name: "refuse what is new when too old", wraps: begun, wrap: (api) => outdated.refuseNew(api, begun) },
    { name: "say which servers are away", wraps: ["listTools"], wrap: (api) => sayUnavailable(api, unavailable) },
    // Above all that takes an id, and above what answers from memory: nothing is known of the ids of the lost time.
    {
      name: "refuse on a database that went back",
      wraps: begun,
      wrap: (api) => refuseOnLoss(api, losses, begun),
    },
    { name: "say where an approval is given", wraps: ["beginAct", "getAct"], wrap: (api) => sayWhere(api, urlOf) },
    { name: "name the turn of an act", wraps: ["beginAct"], wrap: (api) => nameTurns(api, turns) },
    // Above replay protection, so that no caller is shown the result of a turn that they could not have started.
    { name: "limit senders", wraps: ["executeTurn"], wrap: limitSenders },
    // Above the limits of turns: a repeated request needs no slot, and a turn that finds none leaves its id free.
    { name: "answer known turns", wraps: ["executeTurn"], wrap: (api) => answerKnownTurns(api, turns) },
    {
      name: "protect from replay",
      wraps: effects,
      wrap: (api) =>
        protectFromReplay(api, {
          store: replay,
          isClaimMadeByApi: true,
          onReplay(_key, call) {
            const record = recordOf(call);
            if (record !== undefined) record.headers["idempotency-replayed"] = "true";
          },
          onStoreError: (error, { kind, id }) =>
            log.error({ kind, id, ...errorFacts(error) }, "could not store result for replay, will retry"),
        }),
    },
    { name: "wait for turns when the host stops", wraps: ["executeTurn"], wrap: engine.watch },
  ];
}

/** The layers around the operations, which every run of a turn passes: its first run, and each run that resumes it. */
export function runLayers(parts: PipelineParts): Layer[] {
  const { access, slots, outdated, isHidden, metrics, tracing, onSlotError } = parts;
  const traced: Layer[] =
    tracing === undefined
      ? []
      : [{ name: "trace turns", wraps: ["executeTurn"], wrap: (api) => traceTurns(api, tracing) }];
  return [
    { name: "watch for turns under way", wraps: ["executeTurn"], wrap: outdated.watchRuns },
    {
      name: "limit turns",
      wraps: ["executeTurn"],
      wrap: (api) => limitTurns(api, { slots, credentialOf, onError: onSlotError }),
    },
    { name: "watch the access of turns", wraps: ["executeTurn"], wrap: access.watchTurns },
    { name: "measure turns", wraps: ["executeTurn"], wrap: (api) => measureTurns(api, metrics) },
    ...traced,
    {
      name: "hide namespaces",
      wraps: ["listToolNamespaces", "updateToolNamespaces"],
      wrap: (api) => hideNamespaces(api, isHidden),
    },
    { name: "write events with turns", wraps: ["executeTurn"], wrap: writeEventsWithTurns },
  ];
}

function credentialOf(call: ServiceApiCallOptions | undefined): string | undefined {
  return recordOf(call)?.facts.credentialId;
}

/** The service inside these layers. Each layer sees a call before the layers behind it in the list. */
export function inLayers(layers: readonly Layer[], service: ServiceApi): ServiceApi {
  return layers.reduceRight((api, layer) => inLayer(layer, api), service);
}

function inLayer({ wraps, wrap }: Layer, api: ServiceApi): ServiceApi {
  const wrapped = wrap(api);
  return { ...api, ...Object.fromEntries(wraps.map((operation) => [operation, wrapped[operation]])) };
}

/** The ports of the kernel that have layers. */
interface LayeredPorts {
  audit: AuditSink;
  ledger: DecisionLedger;
  acts: ActStore;
  tools: readonly ToolHandler[];
  toolProviders: readonly ToolProvider[];
  resources: readonly ResourceProvider[];
}

/** The ports of the kernel in layers that count and, if tracing is on, trace what goes through them. */
export function inPortLayers(ports: LayeredPorts, metrics: Metrics, isTraced: boolean): LayeredPorts {
  const audit = countAuditEvents(ports.audit, metrics);
  const ledger = countDecisions(ports.ledger, metrics);
  const acts = countOutcomes(ports.acts, metrics);
  if (!isTraced) return { ...ports, audit, ledger, acts };
  return {
    acts: traceActs(acts),
    audit: traceAuditedDecisions(audit),
    ledger: traceDecisions(ledger),
    tools: ports.tools.map(traceTool),
    toolProviders: ports.toolProviders.map(traceMcpServer),
    resources: ports.resources.map(traceResources),
  };
}

/**
 * The same api, trying a call again that was decided on what is outdated: for a protocol whose requests are not tried again as a whole.
 * INVARIANT: nothing was carried out then, because the decision is written first.
 */
export function attemptEffects(api: ServiceApi, attempt: Stores["attempt"]): ServiceApi {
  return {
    ...api,
    invokeTool: (...call) => attempt(() => api.invokeTool(...call)),
    invokeResource: (...call) => attempt(() => api.invokeResource(...call)),
  };
}

/**
 * The kernel that turns run on: it tries the admission of a turn, and each of its calls, again that was decided on what is outdated.
 * INVARIANT: nothing was carried out then, because the decision is written first.
 */
export function attemptCalls(kernel: Kernel, attempt: Stores["attempt"]): Kernel {
  return {
    ...kernel,
    async admitTurn(context, turn, options) {
      const admission = await attempt(() => kernel.admitTurn(context, turn, options));
      if (admission.kind === "refused") return admission;
      const { scope } = admission;
      const invokeTool: TurnScope["invokeTool"] = (...call) => attempt(() => scope.invokeTool(...call));
      return { kind: "admitted", scope: Object.create(scope, { invokeTool: { value: invokeTool } }) as TurnScope };
    },
  };
}

/** A runtime with what is traced of it. */
export function inRuntimeLayers(runtime: RuntimePlugin, isTraced: boolean): RuntimePlugin {
  return isTraced ? traceSteps(runtime) : runtime;
}

/** The same api, which says beside a list of tools which servers it would have more of if they were there. */
function sayUnavailable(api: ServiceApi, unavailable: PipelineParts["unavailable"]): ServiceApi {
  return {
    ...api,
    async listTools(context, call) {
      const tools = await api.listTools(context, call);
      const namespaces = unavailable(context).map((server) => `mcp.${server}`);
      const record = recordOf(call);
      if (record !== undefined && namespaces.length > 0) record.headers["x-tools-unavailable"] = namespaces.join(", ");
      return tools;
    },
  };
}

/** The same api, which says of an act that waits for a person where they answer. */
function sayWhere(api: ServiceApi, urlOf: PipelineParts["urlOf"]): ServiceApi {
  const [beginAct, getAct] = [withActs(api.beginAct), withActs(api.getAct)];
  const withUrl = ({ namespaceId }: DiscoveryContext, state: ActState): ActState => {
    if (state.status !== "waiting" || state.escalationId === undefined) return state;
    return { ...state, url: urlOf(namespaceId, state.escalationId) };
  };
  return {
    ...api,
    beginAct: async (context, request, call) => withUrl(context, await beginAct(context, request, call)),
    getAct: async (context, id, scope, call) => withUrl(context, await getAct(context, id, scope, call)),
  };
}

/**
 * The same api, in whose contexts the execution of an act is named that is a running turn of its actor: the act is one of its calls.
 * INVARIANT: no other execution is, because a caller can name any.
 */
function nameTurns(api: ServiceApi, turns: Pick<TurnJournalStore, "find">): ServiceApi {
  return {
    ...api,
    async beginAct(context, request, call) {
      const { executionId } = request;
      if (executionId === undefined) return withActs(api.beginAct)(context, request, call);
      const { namespaceId, actor } = context;
      const turn = await turns.find({ namespaceId, actor, executionId });
      const isRunning = turn?.status === "running" || turn?.status === "waiting";
      const named = isRunning ? acceptContext({ ...context, executionId }, "required") : context;
      return withActs(api.beginAct)(named, request, call);
    },
  };
}

/** The api of a kernel with a store of acts has its operations. */
function withActs<Operation>(operation: Operation | undefined): Operation {
  if (operation === undefined) throw new TypeError("The host has no store of acts.");
  return operation;
}
