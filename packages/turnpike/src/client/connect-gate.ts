import { routes, type ActState } from "../contracts/index.ts";
import { openDeadline, TimeLimitError } from "../internal/index.ts";
import { createServiceClient } from "./client.ts";
import { pause, pauseAfter } from "./come-back.ts";
import { createGate, type Gate, type GateOptions, type GatePort } from "./gate.ts";
import { readResult, send, type ServiceClientOptions } from "./send.ts";
import { ServiceClientError } from "./service-client-error.ts";

/** Where the gate is, and who asks. */
export interface ConnectGateOptions extends Omit<ServiceClientOptions, "baseUrl">, GateOptions {
  /** Where the service is, such as `http://127.0.0.1:8787`. */
  url: string;
}

/** For how long the service holds a request at most. */
const maxHeldSeconds = 60;

/** How long an answer may take beside the time that it is held. */
const patienceSeconds = 30;

/**
 * A gate that is reached over HTTP.
 *
 * @example
 * import { connectGate } from "turnpike/client";
 *
 * const allowed = { status: "allowed", id: "call-1", expiresAt: "2026-01-01T12:05:00Z", grants: ["grant-1"] };
 * const fetch = () => Promise.resolve(Response.json(allowed)); // that of the platform unless given
 * const gate = connectGate({ url: "https://example.com", fetch });
 * const needs = [{ action: "send", resource: { namespace: "mail", path: ["bob"] } }];
 * console.log((await gate.begin({ id: "call-1", tool: "send_mail", needs })).status); // allowed
 */
export function connectGate({ url, onUnreported, ...options }: ConnectGateOptions): Gate {
  const client = { ...options, baseUrl: url };
  const { finishAct } = createServiceClient(client);
  return createGate(
    {
      begin: beginOver(client),
      finish: (id, outcome) => inTime(0, undefined, (signal) => finishAct(id, outcome, { signal })),
    },
    { onUnreported },
  );
}

/** Begins an act, and asks again while a person may still answer: the service holds a request for a minute at most. */
function beginOver(client: ServiceClientOptions): GatePort["begin"] {
  const { method, path, response: schema } = routes.beginAct;
  return async (request, { signal, waitSeconds }) => {
    const until = performance.now() + waitSeconds * 1000;
    for (let early = 0; ; early += 1) {
      const askedAt = performance.now();
      const held = Math.min(Math.max(Math.ceil((until - askedAt) / 1000), 0), maxHeldSeconds);
      const headers = held > 0 ? { prefer: `wait=${held}` } : {};
      const state = await inTime(held, signal, async (deadline) => {
        const response = await send(client, { method, path, body: request, headers }, deadline);
        return (await readResult(response, schema, deadline)) as ActState;
      });
      if (state.status !== "waiting" || performance.now() >= until) return state;
      // A service that holds as many requests as it may, or is about to end, answers at once.
      if (performance.now() < askedAt + held * 1000) await pause(pauseAfter(early), signal);
    }
  };
}

/** Rejects when no answer comes in time. */
async function inTime<Answer>(
  heldSeconds: number,
  signal: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const late = `The service did not answer within ${heldSeconds + patienceSeconds} s.`;
  const deadline = openDeadline((heldSeconds + patienceSeconds) * 1000, signal === undefined ? [] : [signal], late);
  try {
    return await call(deadline.signal);
  } catch (cause) {
    if (!(cause instanceof TimeLimitError)) throw cause;
    throw new ServiceClientError(late, { status: 0, code: "request_failed", cause });
  } finally {
    deadline.close(new Error("It was answered."));
  }
}
