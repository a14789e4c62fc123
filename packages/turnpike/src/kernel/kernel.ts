import type {
  AccessContext,
  ActOutcome,
  ActRequest,
  ActState,
  AuthorizationDecision,
  AuthorizationRequest,
  AuthorizeRequest,
  DiscoveryContext,
  MessageEnvelope,
  MessageResult,
  NamespaceCatalog,
  NamespaceUpdate,
  ReachResult,
  ResourceOperationRequest,
  ResourceResult,
  ToolCall,
  ToolDescriptor,
  ToolResult,
} from "../contracts/index.ts";
import { neverAborted } from "../internal/index.ts";
import { admitTurn, type TurnAdmission, type TurnToAdmit } from "./admit-turn.ts";
import { beginAct, type ActBeginning } from "./begin-act.ts";
import { authorize, type Gate } from "./authorize.ts";
import { loadAuthority } from "./authority.ts";
import { covers, type RunningAct } from "./covers.ts";
import { checkLimits, type EffectOptions } from "./effect.ts";
import { explain, type Explanation } from "./explain.ts";
import { explainReach, type ReachExplanation, type ReachScope } from "./explain-reach.ts";
import { finishAct, getAct, type ActScope } from "./finish-act.ts";
import { createResourceRegistry, invokeResource } from "./invoke-resource.ts";
import { invokeTool, type ToolGate } from "./invoke-tool.ts";
import { listTools, type Listings } from "./list-tools.ts";
import { listToolNamespaces, updateToolNamespaces } from "./namespaces.ts";
import type { CallOptions, KernelOptions } from "./ports.ts";
import { reach } from "./reach.ts";
import { sendMessage } from "./send-message.ts";
import { createToolRegistry, resolveCatalogFor } from "./tool-catalog.ts";
import { recordTurnEnd, type TurnEnd } from "./turn-scope.ts";

/** Decides and carries out every operation. An operation aborted before its effect rejects with the signal's reason. */
export interface Kernel {
  /** Whether the act would be allowed. Consumes nothing, and reserves nothing of what it says that it spends. */
  authorize(context: AccessContext, request: AuthorizeRequest, options?: CallOptions): Promise<AuthorizationDecision>;
  /** The tools the context may use. Throws a `KernelError` when that cannot be established. */
  listTools(context: DiscoveryContext, options?: CallOptions): Promise<readonly ToolDescriptor[]>;
  /** The tool namespaces there are. Throws a `KernelError` when they cannot be shown. */
  listToolNamespaces(context: DiscoveryContext, options?: CallOptions): Promise<NamespaceCatalog>;
  /** Switches tool namespaces on and off. Throws a `KernelError` when nothing could be changed. */
  updateToolNamespaces(
    context: AccessContext,
    update: NamespaceUpdate,
    options?: CallOptions,
  ): Promise<NamespaceCatalog>;
  invokeTool(context: AccessContext, call: ToolCall, options?: CallOptions): Promise<ToolResult>;
  invokeResource(
    context: AccessContext,
    operation: ResourceOperationRequest & { context?: AccessContext },
    options?: CallOptions,
  ): Promise<ResourceResult>;
  sendMessage(context: AccessContext, envelope: MessageEnvelope, options?: CallOptions): Promise<MessageResult>;
  /** Whether there is a store of acts. */
  readonly hasActs: boolean;
  /**
   * Decides about an effect that the caller carries out itself, and takes what it needs. This and the two methods below throw a
   * `KernelError` without a store of acts.
   */
  beginAct(context: AccessContext, request: ActRequest, options?: CallOptions): Promise<ActBeginning>;
  /** Records what became of it. Throws a `KernelError` when there is no such act, or another outcome of it. */
  finishAct(context: DiscoveryContext, id: string, outcome: ActOutcome, options?: CallOptions): Promise<ActState>;
  /** Where an act is. Throws a `KernelError` when there is no such act. */
  getAct(context: DiscoveryContext, id: string, scope: ActScope, options?: CallOptions): Promise<ActState>;
  /** All places where the context may act right now. */
  reach(context: DiscoveryContext, options?: CallOptions): Promise<ReachResult>;
  /** For operators only: a decision with every grant considered. Never put it behind the service api. */
  explain(context: AccessContext, request: AuthorizeRequest, options?: CallOptions): Promise<Explanation>;
  /** For operators only: all places where a principal may act right now, with the grants that allow it. Records nothing. */
  explainReach(scope: ReachScope, options?: CallOptions): Promise<ReachExplanation>;
  /**
   * For tools and resource providers: whether the authority with which their running act was allowed covers another request too.
   * They leave out of their answer what it does not cover. Consumes and records nothing.
   */
  covers(act: RunningAct, request: AuthorizationRequest, options?: CallOptions): Promise<boolean>;
  /** For turn executors: admits one turn and opens the scope it runs in. */
  admitTurn(context: AccessContext, turn: TurnToAdmit, options?: CallOptions): Promise<TurnAdmission>;
  /** For turn executors: records the end of a turn that was never admitted. */
  recordTurnEnd(context: AccessContext, end: TurnEnd, options?: CallOptions): Promise<void>;
}

/**
 * Binds the operations to the host's ports. Throws when tools or providers are misconfigured.
 *
 * @example
 * import { createKernel } from "turnpike/kernel";
 * import { memoryGrants } from "turnpike/testing";
 *
 * const kernel = createKernel({ grants: memoryGrants([grant]), audit: "none" });
 * const resource = { namespace: "notes", path: ["shopping"] };
 * console.log((await kernel.authorize(context, { action: "read", resource })).allowed); // true
 * console.log((await kernel.authorize(context, { action: "write", resource })).allowed); // false
 */
export function createKernel(options: KernelOptions): Kernel {
  const { tools, toolProviders, resources, ...ports } = options;
  if (ports.audit === undefined) throw new TypeError('createKernel needs `audit`: a sink, or "none" for no audit log.');
  checkLimits(ports);
  const registry = createToolRegistry(tools, toolProviders);
  const providers = createResourceRegistry(resources);
  const listings: Listings = new WeakMap();
  const gate: Gate = {
    ports,
    view: (context, signal) => loadAuthority(ports, context, signal),
  };
  const toolGate: ToolGate = {
    ...gate,
    catalog: (name, context, signal) => resolveCatalogFor(name, registry, ports, context, signal),
  };

  return {
    authorize: (context, request, call) => authorize(gate, context, request, signalOf(call)),
    listTools: (context, call) => listTools(gate, registry, listings, context, effectOptions(call)),
    listToolNamespaces: (context, call) => listToolNamespaces(ports, registry, context, signalOf(call)),
    updateToolNamespaces: (context, update, call) =>
      updateToolNamespaces(ports, registry, context, update, signalOf(call)),
    invokeTool: (context, toolCall, call) => invokeTool(toolGate, context, toolCall, effectOptions(call)),
    invokeResource: (context, operation, call) =>
      invokeResource(gate, providers, context, operation, effectOptions(call)),
    sendMessage: (context, envelope, call) => sendMessage(gate, context, envelope, effectOptions(call)),
    hasActs: ports.acts !== undefined,
    beginAct: (context, request, call) => beginAct(gate, registry, context, request, effectOptions(call)),
    finishAct: (context, id, outcome) => finishAct(ports, context, id, outcome),
    getAct: (context, id, scope) => getAct(ports, context, id, scope),
    reach: (context, call) => reach(gate, context, signalOf(call)),
    explain: (context, request, call) => explain(gate, context, request, signalOf(call)),
    explainReach: (scope, call) => explainReach(gate, scope, signalOf(call)),
    covers: (act, request, call) => covers(ports, act, request, signalOf(call)),
    admitTurn: (context, turn, call) => admitTurn({ gate, registry, listings }, context, turn, effectOptions(call)),
    recordTurnEnd: (context, end, call) => recordTurnEnd(ports, context, end, call?.writes),
  };
}

function effectOptions(options: CallOptions | undefined): EffectOptions {
  const { onEffect, onProgress, host, writes } = options ?? {};
  return { signal: signalOf(options), onEffect, onProgress, host, writes };
}

function signalOf(options: CallOptions | undefined): AbortSignal {
  return options?.signal ?? neverAborted();
}
