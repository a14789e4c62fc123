import type { RouteName } from "../contracts/index.ts";

// The texts of the API description: one table for the operations, one for the shapes.

/** What a reader learns about one operation. */
export interface OperationText {
  tag: "Authority" | "Tools" | "Resources" | "Messages" | "Turns" | "Acts" | "Health";
  summary: string;
  description: string;
  /** What the 200 answer is. */
  answer: string;
}

export const introduction: string = `The gate that every agent turn, tool call, resource operation and message passes.

**A refusal is an answer.** Results that say \`denied\`, \`failed\`, \`cancelled\` or \`escalated\`, and decisions that say \`allowed: false\`, travel with status 200. HTTP errors are for requests that never became an operation.

**No body carries authority.** Who acts, for whom, on whose authority and why comes from the host's authentication alone. Bodies are strict: an unknown key is \`invalid_request\`, and so are a \`__proto__\` key and nesting deeper than 64 levels.

**Codes are open-ended.** A host may answer with statuses and codes of its own, and later releases may add some: tolerate those you do not know.

Paths are matched byte for byte, a trailing slash is another path, and a query string is ignored where no parameter is named. Everything but \`/health\` is authenticated before its path is read; after that, an unknown path is \`404 not_found\`.`;

export const tags: Readonly<Record<OperationText["tag"], string>> = {
  Authority: "What the caller may do, and where.",
  Tools: "The tools the caller may use, the namespaces they come in, and calling them.",
  Resources: "Acting on resources directly.",
  Messages: "Messages between principals.",
  Turns: "Running bounded agent turns.",
  Acts: "Effects that callers carry out themselves, decided and recorded here.",
  Health: "Whether the service is up.",
};

export const operationTexts: Readonly<Record<RouteName, OperationText>> = {
  health: {
    tag: "Health",
    summary: "Is the service up?",
    description: "Answers without authentication, and never with an error. Load balancers may ask with `HEAD`.",
    answer: "The service is up and speaks this version of the protocol.",
  },
  authorize: {
    tag: "Authority",
    summary: "May this be done?",
    description:
      "Decides whether the caller may carry out one action on one resource, and records the decision. Nothing is done and no use of a grant is counted; a denial for want of a grant says what to ask the owner for.",
    answer: "The decision, allowed or not.",
  },
  reach: {
    tag: "Authority",
    summary: "Where may I act?",
    description:
      "Lists every place where the caller may act right now. It is the whole reach or, when that cannot be established, `unavailable`: never a part of it.",
    answer: "The reach, or that it cannot be said.",
  },
  listTools: {
    tag: "Tools",
    summary: "List the usable tools",
    description:
      "Lists the tools that the caller may use right now: their namespace is switched on and a grant covers them. A turn offers a model nothing beyond this list.",
    answer: "The usable tools, sorted by name.",
  },
  listToolNamespaces: {
    tag: "Tools",
    summary: "List the tool namespaces",
    description: "Lists every tool namespace there is for the caller, with its sources and whether it is switched on.",
    answer: "The namespaces, sorted by name, and how many are on and off.",
  },
  updateToolNamespaces: {
    tag: "Tools",
    summary: "Switch tool namespaces on and off",
    description:
      "Applies a patch to the caller's selection of tool namespaces. Both lists are read as sets, `{}` changes nothing, and a name in both lists is `invalid_request`; unknown names are stored, because a namespace may appear later.",
    answer: "The namespaces as they are after the patch.",
  },
  invokeTool: {
    tag: "Tools",
    summary: "Call a tool",
    description:
      "Calls one tool on the caller's authority. `tool_unavailable` means that the caller cannot use the tool, and never says whether it is missing, switched off or not granted.",
    answer: "What became of the call: `succeeded`, `denied` or `failed`.",
  },
  invokeResource: {
    tag: "Resources",
    summary: "Act on a resource",
    description:
      "Carries out one action on one resource through the provider of its namespace. A resource without an owner is that of the owner the caller acts for.",
    answer: "What became of the operation: `succeeded`, `denied` or `failed`.",
  },
  sendMessage: {
    tag: "Messages",
    summary: "Send a message",
    description:
      "Hands a message to the host's transport. Sender, purpose and trace have to be the caller's own; being allowed to send says nothing about what the receiver may do.",
    answer: "What became of the message: `delivered`, `denied` or `failed`.",
  },
  executeTurn: {
    tag: "Turns",
    summary: "Run an agent turn",
    description:
      "Runs one bounded turn of the agent that the caller acts as, in the runtime the host has chosen. With `accept: text/event-stream` the events are streamed as they happen; closing the connection cancels the turn. Where the host has a journal of turns, `prefer: respond-async` starts a turn that goes on without its caller, streamed or not; and the same request under the same id is answered with what became of it.",
    answer:
      "How the turn ended: `succeeded`, `denied`, `failed`, `cancelled` or `escalated`, with all of its events. With `prefer: respond-async`, a turn that was started before and has ended: its state.",
  },
  listTurns: {
    tag: "Turns",
    summary: "List my turns",
    description:
      "Lists the caller's own turns, the newest first. A turn is the caller's own when the same actor of the same tenant started it. Only where the host has a journal of turns.",
    answer: "A page of turns; `next` asks for the page behind it.",
  },
  getTurn: {
    tag: "Turns",
    summary: "Where is this turn?",
    description:
      "Says where a turn of the caller's own is: it runs, it waits for an answer, or it has ended. A turn of another caller is `not_found`, like one that does not exist. Only where the host has a journal of turns.",
    answer: "The turn: with its escalation while it waits, with its result once it has ended.",
  },
  listTurnEvents: {
    tag: "Turns",
    summary: "What happened in this turn?",
    description:
      "Gives the events of a turn of the caller's own from a cursor on. With `accept: text/event-stream` those that come are streamed behind them until the turn has ended; a client that reconnects with the last id it saw gets every later event once, in order. Closing the connection leaves the turn alone. Only where the host has a journal of turns.",
    answer: "The events behind the cursor that there are by now.",
  },
  cancelTurn: {
    tag: "Turns",
    summary: "Cancel a turn",
    description:
      "Asks for the end of a turn of the caller's own: it stops before its next step. Only where the host has a journal of turns.",
    answer: "The turn had ended already, and nothing has changed.",
  },
  beginAct: {
    tag: "Acts",
    summary: "May I do this now?",
    description:
      "Decides about an effect that the caller carries out itself. Each of `needs` has to be covered by some grant alone, all or nothing; one use of each grant that is needed is counted. `allowed` means that the act is the caller's until `expiresAt`: do it, and report its outcome. The same request again is answered with that outcome. With `dryRun` nothing is taken, and with `shadow` nothing is refused either. With `prefer: wait=30` the answer waits while a person is asked. Only where the host has a store of acts.",
    answer: "The decision; or, of an act that was reported before, its outcome.",
  },
  finishAct: {
    tag: "Acts",
    summary: "What became of this act?",
    description:
      "Records the outcome of an act of the caller's own, named by the execution or the trace that it began with. The same outcome again changes nothing. `nothingHappened` within the lease frees the id, and gives back what the act took. After the lease an outcome is taken once, and marked `late`. Only where the host has a store of acts.",
    answer: "The act as it is now.",
  },
  getAct: {
    tag: "Acts",
    summary: "Where is this act?",
    description:
      "Says where an act of the caller's own is. An act of another caller is `not_found`, like one that does not exist. Only where the host has a store of acts.",
    answer:
      "The act: waiting while a person is asked about it, allowed, reported, or interrupted, when its lease ran out without an outcome.",
  },
};

/** What the 202 answer is, where there is one. */
export const acceptedTexts: Readonly<Record<"sendMessage" | "executeTurn" | "cancelTurn" | "beginAct", string>> = {
  sendMessage: "The transport has taken the message and will deliver it: the result is `accepted`.",
  executeTurn: "The turn goes on without its caller: where it is now.",
  cancelTurn: "The turn will end: where it is now.",
  beginAct: "A person was asked, and nothing was taken: the result is `waiting`. Ask again once they have answered.",
};

export const streamText: string = `Server-sent events, when the request says \`accept: text/event-stream\`. Each event of the turn arrives as it happens: \`event: turn.event\`, \`id\` its sequence, \`data\` a \`TurnEvent\` as JSON. A comment line breaks every 15 seconds of silence. The last is \`event: turn.result\`, whose data is the \`TurnResult\` that the plain form would have answered. A request that fails before the turn starts gets an ordinary JSON error instead.`;
