import type { ActError, ActState, AuthorityRequest, JsonObject } from "../contracts/index.ts";

/** Nothing happened: the gate denied it, or a person was asked and has not approved it. */
export class ActDeniedError extends Error {
  override readonly name = "ActDeniedError";
  readonly id: string;
  readonly code: string;
  /** What the gate knows beside the code. */
  readonly details: JsonObject | undefined;
  /** What would have to be granted. */
  readonly requiredAuthority: AuthorityRequest | undefined;
  /** The question that a person was asked, when the act waits for an answer. */
  readonly escalationId: string | undefined;
  /** Where the person answers. */
  readonly url: string | undefined;

  constructor(state: Extract<ActState, { status: "denied" | "waiting" }>) {
    super(state.status === "denied" ? state.error.message : waitingMessage(state));
    this.id = state.id;
    this.code = state.status === "denied" ? state.error.code : "approval_required";
    this.details = state.status === "denied" ? state.error.details : undefined;
    this.requiredAuthority = state.status === "denied" ? state.requiredAuthority : undefined;
    const asked = this.details?.["escalationId"];
    this.escalationId = state.status === "waiting" ? state.escalationId : typeof asked === "string" ? asked : undefined;
    this.url = state.status === "waiting" ? state.url : undefined;
  }
}

function waitingMessage({ expiresAt, url }: Extract<ActState, { status: "waiting" }>): string {
  const until = expiresAt === undefined ? "" : `, who may answer until ${expiresAt}`;
  const where = url === undefined ? "" : ` They answer at ${url}`;
  return `A person was asked${until}. Nothing has happened; do not try again by yourself.${where}`;
}

/** The act was carried out before under the same id, and failed then. */
export class ActFailedError extends Error {
  override readonly name = "ActFailedError";
  readonly id: string;
  readonly code: string;

  constructor(id: string, error: ActError | undefined) {
    super(error?.message ?? "It failed, and nothing more was said of it.");
    this.id = id;
    this.code = error?.code ?? "effect_failed";
  }
}

/** The act began before under the same id, and what became of it was never reported. It is not carried out again. */
export class ActInterruptedError extends Error {
  override readonly name = "ActInterruptedError";
  readonly id: string;
  /** `replay_pending` while the one who began it may still be at it. */
  readonly code: "replay_interrupted" | "replay_pending";

  constructor(id: string, code: "replay_interrupted" | "replay_pending", cause?: unknown) {
    const message =
      code === "replay_pending"
        ? "It has begun already, and may still be running."
        : "It has begun before and was interrupted: it may have happened.";
    super(message, cause === undefined ? undefined : { cause });
    this.id = id;
    this.code = code;
  }
}
