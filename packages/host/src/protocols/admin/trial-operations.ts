import type { RequestParty, TurnRequest, TurnState } from "turnpike/contracts";
import { acceptContext } from "turnpike/http";
import { TurnPause } from "turnpike/runtime";
import type { Bearer, Operator } from "../../access/index.ts";
import type { AdminInput } from "../../admin-contract/index.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";

type Trial = AdminInput<"listOfferedTools">;

/** A demo has one visitor, who both tries and answers. So its trials are made as the demo, and the visitor may answer them. */
const demoParty: RequestParty = { actor: { kind: "service", serviceId: "demo" }, credential: "demo" };

/**
 * Trying what the bearer of a credential could do. A trial passes the same gate as a request with the token of that
 * credential, in the same context, so nothing more is allowed; and the audit log names the operator.
 */
export function trialOperations({
  stores,
  readOnlyKernel,
  trials,
  isDemo,
  clock,
}: AdminServices): AdminOperations<"listOfferedTools" | "tryTool" | "startTrialTurn"> {
  const { api, bearerOf } = trials;
  const enter = async (trial: Trial, { id, actor, traceId }: Operator): Promise<Bearer> => {
    const { context, call } = await bearerOf(trial, traceId);
    // Every escalation of the trial names the operator, who may not answer it.
    return { call, context: { ...context, triedBy: isDemo ? demoParty : { actor, credential: id } } };
  };
  return {
    async listOfferedTools(trial, operator) {
      const { context } = await enter(trial, operator);
      // The bearer has listed nothing, so the audit log must not say so.
      const tools = await readOnlyKernel(stores.grants).listTools(context);
      return { tools: [...tools] };
    },
    async tryTool({ tool, arguments: given, ...trial }, operator) {
      const { context, call } = await enter(trial, operator);
      const acting = acceptContext(context, "required");
      const { now: requestedAt, traceId } = acting;
      const toolCall = { id: `trial-${crypto.randomUUID()}`, tool, arguments: given, requestedAt, traceId };
      const facts = { credential: trial.credentialId, tool, call: toolCall.id };
      return operator.change(changeOf("tool.try", trial, acting.actor, facts), () =>
        api.invokeTool(acting, toolCall, call),
      );
    },
    async startTrialTurn({ agent: agentId, payload, ...trial }, operator) {
      const { context, call } = await enter(trial, operator);
      const acting = acceptContext(context, "required");
      const { namespaceId, actor, owner, purpose, traceId, triedBy } = acting;
      const agent = { kind: "agent", agentId } as const;
      const executionId = `trial-${crypto.randomUUID()}`;
      const request: TurnRequest = {
        version: 1,
        executionId,
        agent,
        message: {
          version: 1,
          id: `${executionId}-message`,
          createdAt: clock().toISOString(),
          traceId,
          purpose,
          sender: owner,
          receiver: agent,
          payload,
        },
      };
      const facts = { credential: trial.credentialId, turn: executionId };
      const state = await operator.change(changeOf("turn.try", trial, actor, facts), () =>
        begin((watched) => api.executeTurn(acting, request, { ...call, ...watched })),
      );
      return { namespaceId, actor, isAsync: true, state, ...(triedBy && { triedBy }) };
    },
  };

  /** INVARIANT: the turn does not get the signal of the operator's request, so it runs on when the operator leaves. */
  function begin(
    run: (watched: { isAsync: true; onBegun(state: TurnState): void }) => Promise<unknown>,
  ): Promise<TurnState> {
    return new Promise((resolve, reject) => {
      let hasBegun = false;
      const onBegun = (state: TurnState): void => {
        hasBegun = true;
        resolve(state);
      };
      run({ isAsync: true, onBegun }).then(
        () => hasBegun || reject(new Error("A turn ended that never began.")),
        (error: unknown) => {
          if (!hasBegun) reject(error as Error);
          // A paused turn is resumed later.
          else if (!(error instanceof TurnPause)) trials.onLateError(error);
        },
      );
    });
  }
}

function changeOf(
  action: "tool.try" | "turn.try",
  { namespaceId }: Trial,
  receiver: Bearer["context"]["actor"],
  metadata: Record<string, string>,
) {
  return { namespaceId, action, receiver, metadata };
}
