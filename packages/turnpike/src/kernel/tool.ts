import type { z } from "zod";
import {
  ToolDescriptorSchema,
  ToolResultSchema,
  type AccessContext,
  type Amount,
  type AuthorizationRequest,
  type JsonObject,
  type JsonValue,
  type ToolAnnotations,
  type ToolCall,
  type ToolDescriptor,
  type ToolResult,
} from "../contracts/index.ts";
import {
  accept,
  checkJson,
  currentTimestamp,
  describeIssues,
  jsonSchemaOf,
  markAccepted,
  type LazySignal,
} from "../internal/index.ts";
import type { ToolHandler, ToolProgress } from "./ports.ts";

/**
 * Thrown by a tool to fail a call, or by its `requirement` to deny one, with a code and message for the caller. The caller does not
 * see any other error.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: string;
  readonly retryable: boolean | undefined;

  constructor(code: string, message: string, options?: ErrorOptions & { retryable?: boolean }) {
    super(message, options);
    this.code = code;
    this.retryable = options?.retryable;
  }

  /** The failed result with this error. */
  toResult({ id: callId, tool }: ToolCall): ToolResult {
    const { code, message, retryable } = this;
    const error = { code, message, ...(retryable !== undefined && { retryable }) };
    return { status: "failed", callId, tool, completedAt: currentTimestamp(), error };
  }
}

/** Thrown by a tool whose output does not fit its own schema. */
export class InvalidToolOutputError extends Error {
  override readonly name = "InvalidToolOutputError";
}

/** What a tool's `run` gets besides its arguments. */
export interface ToolRun {
  context: AccessContext;
  call: ToolCall;
  signal: AbortSignal;
  /** Reports the progress of the call to the caller. */
  reportProgress(progress: ToolProgress): void;
}

/** A tool as its author writes it down. */
export interface ToolDefinition<Input extends z.ZodType, Output extends z.ZodType> {
  name: string;
  description: string;
  namespace: string;
  /** Where the tool comes from; `host` unless said otherwise. */
  source?: string;
  readWrite: "read" | "write";
  input: Input;
  output?: Output;
  /** What every call needs, or a ceiling and what one call needs within it: one requirement, or each of up to 64. */
  requires:
    | AuthorizationRequest
    | {
        ceiling: AuthorizationRequest;
        of(args: z.output<Input>, context: AccessContext): AuthorizationRequest | readonly AuthorizationRequest[];
      };
  annotations?: ToolAnnotations;
  /** What a call costs. Without it no grant with budgets carries a call. */
  spends?(args: z.output<Input>, context: AccessContext): readonly Amount[] | undefined;
  /** What a call that succeeded really cost, in units of `spends`; without it, what `spends` said. */
  spent?(output: z.output<Output>): readonly Amount[] | undefined;
  run(args: z.output<Input>, run: ToolRun): z.input<Output> | Promise<z.input<Output>>;
}

/**
 * Makes a tool from a zod schema and a typed function. Throws when the definition does not fit the contract.
 *
 * @example
 * import { defineTool } from "turnpike/kernel";
 * import { z } from "zod";
 *
 * const requires = { action: "read", resource: { namespace: "notes", path: [] } };
 * const input = z.object({ id: z.string() });
 * const text = { name: "notes.read", description: "Reads a note.", namespace: "notes", source: "own" };
 * const tool = defineTool({ ...text, readWrite: "read", input, requires, run: ({ id }) => id });
 * console.log(tool.parse({ id: "1" })); // { id: '1' }
 */
export function defineTool<Input extends z.ZodType, Output extends z.ZodType = z.ZodType<JsonValue, JsonValue>>(
  definition: ToolDefinition<Input, Output>,
): ToolHandler {
  const { input, output, requires } = definition;
  const carryOut = async (run: ToolRun): Promise<ToolResult> => {
    const { arguments: args, id: callId, tool } = run.call;
    const returned = await definition.run(args as z.output<Input>, run);
    const taken = checkJson(output === undefined ? returned : checkOutput(output, returned));
    if (!taken.ok)
      throw new InvalidToolOutputError(taken.message, "cause" in taken ? { cause: taken.cause } : undefined);
    const result = { status: "succeeded", callId, tool, completedAt: currentTimestamp(), output: taken.value } as const;
    return markAccepted(ToolResultSchema, result);
  };
  const invoke: ToolHandler["invoke"] = (context, call, signal, reportProgress = ignore) =>
    carryOut({ context, call, signal, reportProgress });
  lazyInvokes.set(invoke, (context, call, signal, report) => carryOut(new LazyRun(context, call, signal, report)));
  return {
    descriptor: describeTool(definition),
    parse(args) {
      const parsed = input.safeParse(args);
      if (!parsed.success) throw new ToolError("invalid_tool_arguments", describeIssues(parsed.error.issues));
      return parsed.data as JsonObject;
    },
    ...("ceiling" in requires && {
      requirement: (context: AccessContext, args: JsonObject) => requires.of(args as z.output<Input>, context),
    }),
    ...(definition.spends && {
      spends: (context: AccessContext, args: JsonObject) => definition.spends?.(args as z.output<Input>, context),
    }),
    ...(definition.spent && { spent: (result: JsonValue) => definition.spent?.(result as z.output<Output>) }),
    invoke,
  };
}

type Report = (progress: ToolProgress) => void;
type LazyInvoke = (context: AccessContext, call: ToolCall, signal: LazySignal, report: Report) => Promise<ToolResult>;

/** For calls whose caller wants no progress. */
const ignore: Report = () => {};

/** For tools that were defined here, a way to call them by which the signal is made only when they read it. The key is `invoke`. */
const lazyInvokes = new WeakMap<ToolHandler["invoke"], LazyInvoke>();

/** Calls a tool. It gets `reportProgress` only when the caller wants progress. */
export function invokeHandler(
  handler: ToolHandler,
  context: AccessContext,
  call: ToolCall,
  signal: LazySignal,
  report?: Report,
): Promise<ToolResult> {
  const invokeLazily = lazyInvokes.get(handler.invoke);
  return invokeLazily?.(context, call, signal, report ?? ignore) ?? handler.invoke(context, call, signal.get(), report);
}

/** A run whose signal is made when it is first read. */
class LazyRun implements ToolRun {
  readonly context: AccessContext;
  readonly call: ToolCall;
  declare readonly signal: AbortSignal;
  readonly reportProgress: Report;
  readonly #signal: LazySignal;

  constructor(context: AccessContext, call: ToolCall, signal: LazySignal, report: Report) {
    this.context = context;
    this.call = call;
    this.reportProgress = report;
    this.#signal = signal;
    Object.defineProperty(this, "signal", LazyRun.#ownSignal);
  }

  /** A property of each run itself, so that copies of the run have it too. */
  static readonly #ownSignal: PropertyDescriptor & ThisType<LazyRun> = {
    enumerable: true,
    get() {
      return this.#signal.get();
    },
  };
}

function describeTool<Input extends z.ZodType, Output extends z.ZodType>(
  definition: ToolDefinition<Input, Output>,
): ToolDescriptor {
  const { name, description, namespace, source = "host", readWrite, input, output, requires, annotations } = definition;
  const inputSchema = jsonSchemaOf(input, "input");
  if (inputSchema["type"] !== "object") throw new TypeError(`The input of tool ${name} has to be an object schema.`);
  const accepted = accept(ToolDescriptorSchema, {
    name,
    description,
    namespace,
    source,
    readWrite,
    inputSchema,
    ...(output && { outputSchema: jsonSchemaOf(output, "output") }),
    requiredCapability: "ceiling" in requires ? requires.ceiling : requires,
    ...(annotations && { annotations }),
  });
  if (!accepted.ok) throw new TypeError(`Tool ${name} does not fit the contract: ${accepted.message}`);
  return accepted.value;
}

/** Checks a tool's output. An output that throws when it is read does not fit either. */
function checkOutput(output: z.ZodType, returned: unknown): unknown {
  let message: string;
  try {
    const parsed = output.safeParse(returned);
    if (parsed.success) return parsed.data;
    message = describeIssues(parsed.error.issues);
  } catch (cause) {
    throw new InvalidToolOutputError("The output cannot be read.", { cause });
  }
  throw new InvalidToolOutputError(message);
}
