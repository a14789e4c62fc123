import {
  errorCodes,
  type AccessContext,
  type ActRequest,
  type ActState,
  type ToolDescriptor,
  type TurnEvent,
  type TurnRequest,
  type TurnResult,
} from "../contracts/index.ts";
import { extend } from "../internal/index.ts";
import { KernelError, type CallOptions, type Kernel } from "../kernel/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";
import type { TurnExecutionOptions, TurnExecutionPort } from "../runtime/index.ts";

/** The last argument of every operation. */
export type ServiceApiCallOptions = CallOptions;

/** Options to watch a turn while it runs, and with a journal to run it without its caller or to resume it. */
export interface ExecuteTurnOptions
  extends ServiceApiCallOptions, Pick<TurnExecutionOptions, "isAsync" | "onBegun" | "writer"> {
  onEvent?: ((event: TurnEvent) => void) | undefined;
}

/** Options to wait with the answer while a person is asked. A service that holds no requests answers at once. */
export interface BeginActOptions extends ServiceApiCallOptions {
  waitSeconds?: number | undefined;
  /** Called when the answer has to wait. */
  onHeld?: (() => void) | undefined;
}

/** The operations that are the kernel's own, as embedded consumers call them. */
type KernelOperation =
  | "authorize"
  | "invokeResource"
  | "invokeTool"
  | "listToolNamespaces"
  | "listTools"
  | "reach"
  | "sendMessage"
  | "updateToolNamespaces";

/** The nine operations of the service: the access context first, call options last. */
export interface ServiceApi extends Pick<Kernel, KernelOperation> {
  executeTurn(context: AccessContext, request: TurnRequest, options?: ExecuteTurnOptions): Promise<TurnResult>;
  /**
   * Decides about an effect that the caller carries out itself. A state that is `succeeded` or `failed` answers a repeated request. This
   * and the two methods below are there when the kernel has a store of acts.
   */
  beginAct?(context: AccessContext, request: ActRequest, options?: BeginActOptions): Promise<ActState>;
  /** Records what became of it. */
  finishAct?: Kernel["finishAct"];
  /** Where an act is. */
  getAct?: Kernel["getAct"];
}

/**
 * Makes the api of a kernel and an executor of turns. The kernel's operations for operators and executors are not part of it.
 *
 * @example
 * import { createServiceApi } from "turnpike/http";
 * import { createKernel } from "turnpike/kernel";
 * import { createTurnExecutor, standardRuntime } from "turnpike/runtime";
 * import { memoryGrants, scriptedDriver } from "turnpike/testing";
 *
 * const kernel = createKernel({ grants: memoryGrants([grant]), audit: "none" });
 * const turns = createTurnExecutor({ kernel, runtime: standardRuntime(scriptedDriver([])) });
 * console.log((await createServiceApi({ kernel, turns }).reach(context)).status); // computed
 */
export function createServiceApi({ kernel, turns }: { kernel: Kernel; turns: TurnExecutionPort }): ServiceApi {
  return {
    authorize: (context, request, options) => kernel.authorize(context, request, options),
    async executeTurn(context, request, options) {
      // The admission of a resumed turn says which tools it gets.
      const tools = options?.writer === undefined ? await toolsToOffer(kernel, context, options) : undefined;
      return turns.execute(extend(request, { context, ...(tools && { tools }) }), options);
    },
    invokeResource: (context, operation, options) => kernel.invokeResource(context, operation, options),
    invokeTool: (context, call, options) => kernel.invokeTool(context, call, options),
    listToolNamespaces: (context, options) => kernel.listToolNamespaces(context, options),
    listTools: (context, options) => kernel.listTools(context, options),
    reach: (context, options) => kernel.reach(context, options),
    sendMessage: (context, envelope, options) => kernel.sendMessage(context, envelope, options),
    updateToolNamespaces: (context, update, options) => kernel.updateToolNamespaces(context, update, options),
    ...(kernel.hasActs && actsOf(kernel)),
  };
}

function actsOf(kernel: Kernel): Required<Pick<ServiceApi, "beginAct" | "finishAct" | "getAct">> {
  return {
    async beginAct(context, request, options) {
      const beginning = await kernel.beginAct(context, request, options);
      if (beginning.kind !== "refused") return beginning.state;
      const { status, meaning } = errorCodes[beginning.code];
      const headers = beginning.code === "replay_pending" ? { headers: { "retry-after": "1" } } : {};
      const message = beginning.code === "replay_interrupted" ? interrupted : meaning;
      throw new ServiceHttpError(status, beginning.code, message, headers);
    },
    finishAct: (context, id, outcome, options) => kernel.finishAct(context, id, outcome, options),
    getAct: (context, id, scope, options) => kernel.getAct(context, id, scope, options),
  };
}

/** Its process may live: what is missing is what became of the act. */
const interrupted =
  "This act began before, and what became of it is not stored: its effect may have happened. Find out whether it did. If it did not, begin the act under a new id.";

/** The visible tools; undefined when they cannot be established. The admission of the turn then fails and says so in the result. */
async function toolsToOffer(
  kernel: Kernel,
  context: AccessContext,
  options: ServiceApiCallOptions | undefined,
): Promise<readonly ToolDescriptor[] | undefined> {
  try {
    return await kernel.listTools(context, options);
  } catch (error) {
    if (error instanceof KernelError) return undefined;
    throw error;
  }
}
