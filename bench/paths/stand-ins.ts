// A model and a collector of traces on one port, in a process of their own: what a host's turns and spans go to.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { notePath } from "../support/world.ts";

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string }[];
}

/** The model reads the note once, and then says that it did. */
function reply({ model, messages }: ChatRequest): object[] {
  const hasRead = messages.at(-1)?.role === "tool";
  const read = { name: "files_read", arguments: JSON.stringify({ path: notePath.join("/") }) };
  const call = { index: 0, id: `call_${messages.length}`, type: "function", function: read };
  const head = { id: "stand-in", object: "chat.completion.chunk", created: 1_767_225_600, model };
  const choices = [
    { delta: { role: "assistant" }, finish_reason: null },
    { delta: hasRead ? { content: "I read it." } : { tool_calls: [call] }, finish_reason: null },
    { delta: {}, finish_reason: hasRead ? "stop" : "tool_calls" },
  ];
  return [
    ...choices.map((choice) => ({ ...head, choices: [{ index: 0, ...choice }] })),
    { ...head, choices: [], usage: { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 } },
  ];
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  if (request.url === "/v1/traces")
    return void response.writeHead(200, { "content-type": "application/json" }).end("{}");
  const asked = JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(
    [...reply(asked).map((event) => JSON.stringify(event)), "[DONE]"].map((data) => `data: ${data}\n\n`).join(""),
  );
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));
