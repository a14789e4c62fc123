import { Agent, Runner, RunState, tool } from "@openai/agents";
import { assistantMessage, functionCall, modelResponse, modelResponder, ScriptedModel } from "@openai/agents/testing";
import { govern } from "turnpike-agents/openai-agents";
import { z } from "zod";

export async function play({ gate, sendMail, signal, calls, options, state }) {
  let told = [];
  const last = modelResponder(({ request }) => {
    told = request.input
      .filter(({ type }) => type === "function_call_result")
      .map(({ output }) => (typeof output === "string" ? output : output.text));
    return [assistantMessage("done")];
  });
  const first = modelResponse(calls.map(({ id, args }) => functionCall("send_mail", args, { callId: id })));
  const agent = new Agent({
    name: "mailer",
    model: new ScriptedModel(state === undefined ? [first, last] : [last]),
    tools: govern(
      [
        tool({
          name: "send_mail",
          description: "Sends a mail.",
          parameters: z.object({ to: z.string(), text: z.string() }),
          execute: (input, _context, details) => sendMail(input, details?.signal),
        }),
      ],
      gate,
      options,
    ),
  });
  const runner = new Runner({ tracingDisabled: true });
  const resumed = state === undefined ? undefined : await RunState.fromString(agent, state);
  for (const interruption of resumed?.getInterruptions() ?? []) resumed.approve(interruption);
  const result = await runner.run(agent, resumed ?? "Write to them.", { signal });
  const asked = result.interruptions.length;
  return asked > 0 ? { asked, resume: { state: result.state.toString() } } : { told, text: result.finalOutput };
}
