import type { AccessContext, ToolDescriptor, TurnEvent, TurnRequest, TurnResult } from "../contracts/index.ts";
import { extend } from "../internal/index.ts";
import { KernelError, type CallOptions, type Kernel } from "../kernel/index.ts";
import type { TurnExecutionOptions, TurnExecutionPort } from "../runtime/index.ts";

/** The last argument of every operation. */
export type ServiceApiCallOptions = CallOptions;

/** A turn can be watched while it runs; with a journal it can begin without its caller, and go on where it stopped. */
export interface ExecuteTurnOptions
  extends ServiceApiCallOptions, Pick<TurnExecutionOptions, "isAsync" | "onBegun" | "pen"> {
  onEvent?: ((event: TurnEvent) => void) | undefined;
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
}

/** The api over the very kernel that embedded consumers use. What is for operators and executors stays out of it. */
export function createServiceApi({ kernel, turns }: { kernel: Kernel; turns: TurnExecutionPort }): ServiceApi {
  return {
    authorize: (context, request, options) => kernel.authorize(context, request, options),
    async executeTurn(context, request, options) {
      // A turn that goes on is offered what its admission says.
      const tools = options?.pen === undefined ? await toolsToOffer(kernel, context, options) : undefined;
      return turns.execute(extend(request, { context, ...(tools && { tools }) }), options);
    },
    invokeResource: (context, operation, options) => kernel.invokeResource(context, operation, options),
    invokeTool: (context, call, options) => kernel.invokeTool(context, call, options),
    listToolNamespaces: (context, options) => kernel.listToolNamespaces(context, options),
    listTools: (context, options) => kernel.listTools(context, options),
    reach: (context, options) => kernel.reach(context, options),
    sendMessage: (context, envelope, options) => kernel.sendMessage(context, envelope, options),
    updateToolNamespaces: (context, update, options) => kernel.updateToolNamespaces(context, update, options),
  };
}

/** The visible tools; nothing when they cannot be established, which the turn's own admission then says in its result. */
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
