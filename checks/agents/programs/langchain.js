import { AIMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, fakeModel, tool } from "langchain";
import { govern, governed } from "turnpike-agents/langchain";
import { z } from "zod";

/** A graph that was interrupted continues where it was stored. */
const checkpointer = new MemorySaver();

/** `versions` says whether the tools are governed, or the agent by a middleware. */
export async function play({ gate, sendMail, signal, calls, options, thread, versions: [how] }) {
  const send = tool((input, config) => sendMail(input, config.signal), {
    name: "send_mail",
    description: "Sends a mail.",
    schema: z.object({ to: z.string(), text: z.string() }),
  });
  const model = fakeModel();
  if (thread === undefined)
    model.respond(
      new AIMessage({
        content: "",
        tool_calls: calls.map(({ id, args }) => ({ id, name: "send_mail", args, type: "tool_call" })),
      }),
    );
  model.respond(new AIMessage("done"));
  const withInterrupt = { ...options, interrupt: true };
  const agent = createAgent({
    model,
    checkpointer,
    ...(how === "tools"
      ? { tools: govern([send], gate, withInterrupt) }
      : { tools: [send], middleware: [governed(gate, withInterrupt)] }),
  });
  const id = thread ?? options.run ?? crypto.randomUUID();
  const input =
    thread === undefined ? { messages: [{ role: "user", content: "Write to them." }] } : new Command({ resume: true });
  const result = await agent.invoke(input, { configurable: { thread_id: id }, signal });
  const asked = result.__interrupt__?.length ?? 0;
  if (asked > 0) return { asked, resume: { thread: id } };
  const told = result.messages.filter((message) => message.getType() === "tool").map(({ content }) => content);
  return { told, text: result.messages.at(-1).content };
}
