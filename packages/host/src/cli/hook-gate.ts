import type { HookActState, HookGate } from "../agent-hooks/index.ts";

/** A refusal of the host, or no answer of it. */
class HookGateError extends Error {
  override readonly name = "HookGateError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** How a hook reaches its host. */
export interface HookGateOptions {
  url: string;
  token: string;
  /** For how many seconds the host may hold a question. */
  wait: number;
  signal: AbortSignal;
}

/**
 * The gate of a host, for a command that runs at every tool call. It is not the client of the library, because loading the
 * schemas of all answers takes longer than everything else that a hook does; of an answer it needs one word, and only one of them
 * lets a tool run.
 */
export function openHookGate({ url, token, wait, signal }: HookGateOptions): HookGate {
  const post = async (path: string, body: { traceId?: string | undefined }): Promise<HookActState> => {
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      "x-trace-id": encodeURIComponent(body.traceId ?? ""),
      ...(wait > 0 && { prefer: `wait=${wait}` }),
    };
    let response: Response;
    let answer: unknown;
    try {
      const init = { method: "POST", headers, body: JSON.stringify(body), redirect: "error", signal } as const;
      response = await fetch(new URL(path, url.endsWith("/") ? url : `${url}/`), init);
      answer = await response.json();
    } catch (cause) {
      throw new HookGateError("unreachable", `No answer came from the host at ${new URL(url).origin}.`, { cause });
    }
    if (response.ok) return stateIn(answer);
    throw refusalIn(answer, response.status);
  };
  return {
    begin: (act) => post("v1/acts", act),
    finish: (id, outcome) => post(`v1/acts/${encodeURIComponent(id)}/outcome`, outcome),
  };
}

function stateIn(answer: unknown): HookActState {
  const { status, error, expiresAt, url } = membersOf(answer);
  const said = membersOf(error);
  return {
    status: textOf(status) ?? "",
    error: { code: textOf(said["code"]) ?? "denied", message: textOf(said["message"]) ?? "It was denied." },
    expiresAt: textOf(expiresAt),
    url: textOf(url),
  };
}

function refusalIn(answer: unknown, status: number): HookGateError {
  const { code, message } = membersOf(membersOf(answer)["error"]);
  return new HookGateError(textOf(code) ?? "refused", textOf(message) ?? `The host answered with status ${status}.`);
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
