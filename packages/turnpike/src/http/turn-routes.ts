import { routes, type TurnRequest, type TurnResult, type TurnState } from "../contracts/index.ts";
import { KnownTurnError, TurnPause, type KnownTurn, type TurnJournal, type TurnKey } from "../runtime/index.ts";
import { followTurn } from "./followed-turn.ts";
import { prefersAsync, wantsStream } from "./negotiate.ts";
import { jsonReply, streamReply, type Reply } from "./reply.ts";
import type { ExecuteTurnOptions, ServiceApi } from "./service-api.ts";
import type { ServiceCall, ServiceRoute } from "./service-call.ts";
import { ServiceHttpError } from "./service-http-error.ts";
import { readCursor, readExecutionId, readTurnFilter, turnPath } from "./turn-query.ts";
import { streamTurn } from "./turn-stream.ts";

/** The routes that read the journal of turns. */
export type JournalRouteName = "listTurns" | "getTurn" | "listTurnEvents" | "cancelTurn";

/** The answers of the routes over a journal. A turn belongs to the caller when its tenant and actor are the caller's. */
export function journalAnswers(journal: TurnJournal): Record<JournalRouteName, ServiceRoute["answer"]> {
  return {
    listTurns: async ({ context, target }) => {
      const { namespaceId, actor } = context;
      return jsonReply(await journal.list({ namespaceId, actor }, readTurnFilter(target)));
    },
    getTurn: async (call) => {
      const key = keyOf("getTurn", call);
      return jsonReply(existing(await journal.find(key)));
    },
    async listTurnEvents(call) {
      const { target, headers, options, onLateError } = call;
      const key = keyOf("listTurnEvents", call);
      const after = readCursor(target, headers);
      const state = existing(await journal.find(key));
      if (!wantsStream(headers.get("accept"))) return jsonReply({ events: await journal.events(key, after) });
      // Nothing would end the stream.
      if (hasEnded(state) && state.result === undefined) throw noSuchTurn();
      return streamReply(followTurn({ journal, key, after }, options.signal, onLateError));
    },
    async cancelTurn(call) {
      const state = existing(await journal.cancel(keyOf("cancelTurn", call)));
      return jsonReply(state, hasEnded(state) ? 200 : 202);
    },
  };
}

/** Runs a turn in one of four forms: plain or streamed, with its caller or without. */
export async function answerTurn(api: ServiceApi, journal: TurnJournal | undefined, call: ServiceCall): Promise<Reply> {
  const { context, headers, options, onLateError } = call;
  const request = call.body as TurnRequest;
  const run: Run = async (watched) => api.executeTurn(context, request, { ...options, ...watched });
  const isStreamed = wantsStream(headers.get("accept"));
  if (journal === undefined) return runWithCaller(run, isStreamed, call);

  const { namespaceId, actor } = context;
  const key = { namespaceId, actor, executionId: request.executionId };
  const form: Form = {
    isAsync: prefersAsync(headers.get("prefer")),
    isStreamed,
    follow: (added) => streamReply(followTurn({ journal, key, after: -1 }, options.signal, onLateError), added),
  };
  try {
    return await (form.isAsync
      ? startTurn(run, form, key.executionId, onLateError)
      : runWithCaller(run, isStreamed, call));
  } catch (error) {
    if (error instanceof KnownTurnError) return replayReply(error.known, form);
    throw error;
  }
}

type Run = (watched: ExecuteTurnOptions) => Promise<TurnResult>;

/** The form of an answer about a turn in a journal. */
interface Form {
  /** Whether the request was for an asynchronous turn. */
  isAsync: boolean;
  isStreamed: boolean;
  /** Streams the turn from its first event on. */
  follow(headers: Reply["headers"]): Reply;
}

async function runWithCaller(run: Run, isStreamed: boolean, { options, onLateError }: ServiceCall): Promise<Reply> {
  if (!isStreamed) return jsonReply(await run(options));
  return streamReply(await streamTurn(run, options.signal, onLateError));
}

/** INVARIANT: the turn does not get its caller's signal, so that the caller cannot end it by closing the connection. */
async function startTurn(
  run: Run,
  form: Form,
  executionId: string,
  onLateError: (error: unknown) => void,
): Promise<Reply> {
  // Throws before a turn begins whose id no URL could name later.
  turnPath(executionId);
  return new Promise((resolve, reject) => {
    let hasBegun = false;
    const onBegun = (state: TurnState): void => {
      hasBegun = true;
      resolve(acceptedReply(state, form));
    };
    run({ isAsync: true, onBegun, signal: undefined }).then(
      // An api that does not support asynchronous turns has run the turn to its end.
      (result) => hasBegun || resolve(jsonReply(result)),
      (error: unknown) => {
        if (!hasBegun) reject(error);
        // A paused turn is resumed later.
        else if (!(error instanceof TurnPause)) onLateError(error);
      },
    );
  });
}

/** The answer about an asynchronous turn that has not ended. */
function acceptedReply(state: TurnState, { isAsync, isStreamed, follow }: Form): Reply {
  const location = turnPath(state.executionId);
  const headers = { location, ...(isAsync && { "preference-applied": "respond-async" }) };
  return isStreamed ? follow(headers) : jsonReply(state, 202, headers);
}

/** The answer to a repeated request for a turn. */
function replayReply({ state, isAsync, isSame }: KnownTurn, form: Form): Reply {
  if (!isSame) throw conflict("replay_conflict", "This id was used for another request.");
  if (!hasEnded(state)) {
    if (isAsync) return acceptedReply(state, form);
    throw conflict("replay_pending", "The same request is still running.", { "retry-after": "1" });
  }
  const headers = { "idempotency-replayed": "true" };
  if (form.isAsync && !form.isStreamed) return jsonReply(state, 200, headers);
  if (state.result === undefined)
    throw conflict("replay_interrupted", "The result of this request is no longer stored.");
  return form.isStreamed ? form.follow(headers) : jsonReply(state.result, 200, headers);
}

function conflict(code: string, message: string, headers: Record<string, string> = {}): ServiceHttpError {
  return new ServiceHttpError(409, code, message, { headers });
}

function keyOf(name: JournalRouteName, { context, path }: ServiceCall): TurnKey {
  const executionId = readExecutionId(routes[name].path, path);
  if (executionId === undefined) throw noSuchTurn();
  const { namespaceId, actor } = context;
  return { namespaceId, actor, executionId };
}

/** INVARIANT: a turn of another caller and a turn that does not exist get the same answer. */
function existing(state: TurnState | undefined): TurnState {
  if (state === undefined) throw noSuchTurn();
  return state;
}

function noSuchTurn(): ServiceHttpError {
  return new ServiceHttpError(404, "not_found", "You have no turn with this id.");
}

function hasEnded({ status }: TurnState): boolean {
  return status !== "running" && status !== "waiting";
}
