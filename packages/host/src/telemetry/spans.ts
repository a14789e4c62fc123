import { AsyncLocalStorage } from "node:async_hooks";
import { errorCodes } from "turnpike/contracts";

/** The attributes of a span. INVARIANT: never a payload, an argument, a token or the value of a header. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[]>>;

/** How a span begins. */
export interface SpanStart {
  name: string;
  /** `client` for a call to another service; `internal` unless given. */
  kind?: "internal" | "client" | "server";
  attributes?: SpanAttributes;
}

/** A piece of work that is traced. */
export interface Span {
  set(attributes: SpanAttributes): void;
  /** Marks it as failed. Only known codes are recorded, because anything else may be a caller's words. */
  fail(code?: string): void;
}

/** A span that has begun. It can have children also after its end. */
export interface OpenSpan extends Span {
  child(start: SpanStart): OpenSpan;
  rename(name: string): void;
  /** The headers with which another service continues the trace. */
  headers(): Readonly<Record<string, string>>;
  end(): void;
}

const active = new AsyncLocalStorage<OpenSpan>();
const noSpan: Span = { set() {}, fail() {} };

/** Runs `act` inside a new span when the current work is traced, and without a span otherwise. */
export function inSpan<T>(start: () => SpanStart, act: (span: Span) => Promise<T>): Promise<T> {
  const parent = active.getStore();
  return parent === undefined ? act(noSpan) : runIn(parent.child(start()), act);
}

/** Runs `act` inside this span, and ends the span afterwards. */
export async function runIn<T>(span: OpenSpan, act: (span: OpenSpan) => Promise<T>): Promise<T> {
  try {
    return await active.run(span, () => act(span));
  } catch (error) {
    span.fail(error instanceof Error && "code" in error ? String(error.code) : undefined);
    throw error;
  } finally {
    span.end();
  }
}

/** The span of what runs now; undefined when it is not traced. */
export function activeSpan(): OpenSpan | undefined {
  return active.getStore();
}

/** The headers with which another service continues the trace; none when there is no trace. */
export function traceHeaders(): Readonly<Record<string, string>> {
  return active.getStore()?.headers() ?? {};
}

/** A request to another service, which continues the trace if there is one. */
export function withTrace(init: RequestInit): RequestInit {
  const span = active.getStore();
  if (span === undefined) return init;
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(span.headers())) headers.set(name, value);
  return { ...init, headers };
}

/** The name of an error for a span: a known code, or `_OTHER`. */
export function errorType(code: string | undefined): string {
  return code !== undefined && Object.hasOwn(errorCodes, code) ? code : "_OTHER";
}
