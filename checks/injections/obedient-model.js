import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

/**
 * A model that speaks the chat protocol of OpenAI and thinks nothing: it makes the calls of its message, one a step, and
 * then says that it is done. So it does everything that an injection wants.
 */
export async function startObedientModel() {
  const server = createServer(async (request, response) => {
    const { messages, model } = await json(request);
    const asked = messages.findLast(({ role }) => role === "user");
    const calls = JSON.parse(typeof asked.content === "string" ? asked.content : asked.content[0].text);
    const call = calls[messages.filter(({ role }) => role === "tool").length];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of eventsOf(call, model, messages.length)) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function eventsOf(call, model, place) {
  const head = { id: `reply-${place}`, object: "chat.completion.chunk", created: 1_767_225_600, model };
  const tool = call && { name: call.tool, arguments: JSON.stringify(call.arguments) };
  const delta = call
    ? { tool_calls: [{ index: 0, id: `call_${place}`, type: "function", function: tool }] }
    : { content: "Done." };
  return [
    { ...head, choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: call ? "tool_calls" : "stop" }] },
  ];
}
