import { routes, TurnEventSchema, type Route, type TurnEvent, type TurnResult } from "../contracts/index.ts";
import { checkResult } from "./send.ts";
import { readServerSentEvents } from "./server-sent-events.ts";
import { ServiceClientError } from "./service-client-error.ts";

/** A turn that is watched: its events as they happen, then how it ended. Leaving the loop early cancels the turn. */
export interface TurnStream extends AsyncIterable<TurnEvent> {
  /** How the turn ended; reads what is left of the stream. Rejects when the loop was left early. */
  result(): Promise<TurnResult>;
}

/** Reads a turn off a response of server-sent events; `open` sends the request, when reading begins. */
export function createTurnStream(open: () => Promise<Response>, signal: AbortSignal | undefined): TurnStream {
  const reading = readTurn(open, signal);
  let result: TurnResult | undefined;
  let failure: unknown;
  const events = (async function* () {
    try {
      result = yield* reading;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      await reading.return(undefined);
    }
  })();
  return {
    [Symbol.asyncIterator]: () => events,
    async result() {
      for await (const _event of events);
      if (result === undefined) throw failure ?? brokenOff(0, undefined);
      return result;
    },
  };
}

/** The events of a response, then the result; rejects when the stream breaks off before that. */
export async function* readTurn(
  open: () => Promise<Response>,
  signal: AbortSignal | undefined,
): AsyncGenerator<TurnEvent, TurnResult | undefined> {
  const response = await open();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (!isStream || response.body === null) {
    await response.body?.cancel();
    throw invalid(response, undefined);
  }
  try {
    for await (const { event, data } of readServerSentEvents(response.body)) {
      signal?.throwIfAborted();
      if (event === "turn.event") yield parse(data, TurnEventSchema, response) as TurnEvent;
      if (event === "turn.result") return parse(data, routes.executeTurn.response, response) as TurnResult;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof ServiceClientError ? error : brokenOff(response.status, error);
  }
  throw brokenOff(response.status, undefined);
}

function parse(data: string, schema: Route["response"], response: Response): unknown {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw invalid(response, cause);
  }
  return checkResult(value, schema, response);
}

function invalid({ status, headers }: Response, cause: unknown): ServiceClientError {
  const requestId = headers.get("x-request-id") ?? undefined;
  return new ServiceClientError("The service answered with no stream of a turn.", {
    status,
    code: "invalid_response",
    requestId,
    cause,
  });
}

function brokenOff(status: number, cause: unknown): ServiceClientError {
  return new ServiceClientError("The stream broke off before the turn's result.", {
    status,
    code: "request_failed",
    cause,
  });
}
