import type { ActOutcome, ActRequest, AuthorizationRequest } from "turnpike/contracts";
import { hookAnswer, hookWarning, type HookAnswer, type Verdict } from "./hook-answer.ts";
import type { HookActState, HookGate } from "./hook-gate.ts";
import type { Hook } from "./read-hook.ts";
import { callNeeds } from "./tool-needs.ts";

/** How hooks are answered. */
export interface HookOptions {
  /** Whether everything runs, and what would have been decided is recorded alone. */
  isShadow?: boolean;
  now: Date;
}

/** For as long as an agent may take for one tool, the person at its terminal included. */
const leaseSeconds = 3600;

/** Answers one hook: asks the gate, or tells it what became of the act. Never rejects. */
export async function answerHook(hook: Hook, gate: HookGate, options: HookOptions): Promise<HookAnswer> {
  if (hook.kind === "after") return report(hook, gate, options);
  if (options.isShadow !== true) return hookAnswer(hook, await decide(hook, gate, options));
  // A trial decides nothing: the agent goes on as if it had no hook.
  if (hook.kind === "before") await decide(hook, gate, options);
  return hookAnswer(hook, { kind: "silent" });
}

async function decide(
  { kind, id, trace, call }: Extract<Hook, { kind: "before" | "permission" }>,
  gate: HookGate,
  { isShadow, now }: HookOptions,
): Promise<Verdict> {
  const { needs: found, arguments: shown, isRead } = callNeeds(call);
  if (found.kind === "undecided")
    return deny(`It was denied because ${found.why}.${isShell(call.tool) ? howToAsk : ""}`);
  const needs = [...found.needs];
  const act: ActRequest = {
    version: 1,
    // A question about a permission takes nothing, and may have no id.
    id: id ?? crypto.randomUUID(),
    tool: call.tool,
    needs,
    arguments: shown,
    write: !isRead,
    requestedAt: now.toISOString(),
    traceId: trace,
    leaseSeconds,
    ...(isShadow === true ? { shadow: true } : kind === "permission" && { dryRun: true }),
  };
  try {
    return verdictOn(await gate.begin(act), needs);
  } catch (error) {
    return deny(`${codeOf(error)}: ${messageOf(error)} ${afterwards[codeOf(error)] ?? "Nothing was run."}`);
  }
}

/** What to do next, where it is not plain. */
const afterwards: Readonly<Record<string, string>> = {
  replay_interrupted: "Look whether it happened before you do anything.",
  replay_pending: "It was begun before, and its outcome was not reported.",
};

const howToAsk =
  " Say it as one plain command, or plain commands joined by &&, ||, ; or |: no variables, substitutions, redirections or scripts.";

/** INVARIANT: only `allowed` lets the tool run; a status that is not known here does not. */
function verdictOn({ status, error, expiresAt, url }: HookActState, needs: readonly AuthorizationRequest[]): Verdict {
  if (status === "allowed") return { kind: "allow" };
  if (status === "denied")
    return deny(`${error?.code ?? "denied"}: ${error?.message ?? "It was denied."} It needs ${needsText(needs)}.`);
  if (status === "waiting") {
    // Where an act is only tried, no person is asked.
    const asked = expiresAt === undefined ? "a person has to approve it" : `a person is asked until ${expiresAt}`;
    const where = url === undefined ? "" : ` The question is at ${url}`;
    return deny(
      `approval_required: ${asked}, and nothing was run.${where}\nDo not call again by yourself. Once they have approved it, make exactly the same call again.`,
    );
  }
  return deny(`This call was begun before (${status}). It is not run a second time: make a new call if it is needed.`);
}

function deny(reason: string): Verdict {
  return { kind: "deny", reason: `Turnpike: ${reason}` };
}

function needsText(needs: readonly AuthorizationRequest[]): string {
  const texts = needs.map(
    ({ action, resource: { namespace, path } }) => `${action} on ${[namespace, ...path].join("/")}`,
  );
  return texts.length > 4 ? `${texts.slice(0, 4).join(", ")} and ${texts.length - 4} more` : texts.join(", ");
}

function isShell(tool: string): boolean {
  return tool === "Bash" || tool === "Monitor";
}

const failures = {
  failed: { code: "effect_failed", message: "The tool reported an error." },
  interrupted: { code: "cancelled", message: "The person at the terminal stopped the tool." },
};

/** What the tool answered stays with the agent: it may be a secret, and a hook never has to answer it again. */
async function report(
  { id, trace, outcome }: Extract<Hook, { kind: "after" }>,
  gate: HookGate,
  { isShadow }: HookOptions,
): Promise<HookAnswer> {
  if (isShadow === true) return undefined;
  const about = { version: 1, traceId: trace } as const;
  const said: ActOutcome =
    outcome === "succeeded" ? { ...about, status: outcome } : { ...about, status: "failed", error: failures[outcome] };
  try {
    await gate.finish(id, said);
    return undefined;
  } catch (error) {
    return hookWarning(`Turnpike was not told that the tool ran: ${messageOf(error)} (${codeOf(error)})`);
  }
}

function codeOf(error: unknown): string {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {};
  return typeof code === "string" ? code : "unreachable";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
