/** One server-sent event. */
export interface ServerSentEvent {
  event: string;
  data: string;
  /** The id of the event, from which a stream can be resumed. */
  id?: string;
}

/**
 * Reads server-sent events off a stream, whatever pieces it comes in. Returning early cancels the stream.
 *
 * @example
 * import { readServerSentEvents } from "turnpike/client";
 *
 * const { body } = new Response("event: done\ndata: 1\n\n");
 * if (body) for await (const { event, data } of readServerSentEvents(body)) console.log(event, data); // done 1
 */
export async function* readServerSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  const reader = body.getReader();
  let isDone = false;
  try {
    let block: string[] = [];
    for await (const line of readLines(reader)) {
      if (line !== "") block.push(line);
      else {
        const event = parseBlock(block);
        block = [];
        if (event !== undefined) yield event;
      }
    }
    isDone = true;
  } finally {
    if (!isDone) await reader.cancel().catch(() => {});
  }
}

/** The complete lines; each piece of the stream is read once. All three line ends of the format are accepted. */
async function* readLines(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  let endedOnReturn = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    let text = decoder.decode(value, { stream: true });
    if (text === "") continue;
    // A line end may be cut in two.
    if (endedOnReturn && text.startsWith("\n")) text = text.slice(1);
    endedOnReturn = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n|\n|\r/);
    begun.push(first);
    for (const next of others) {
      yield begun.join("");
      begun = [next];
    }
  }
}

/** Undefined for a block without data, such as a heartbeat. */
function parseBlock(lines: readonly string[]): ServerSentEvent | undefined {
  let event = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "id") id = value;
    if (field === "data") data.push(value);
  }
  if (data.length === 0) return undefined;
  return { event, data: data.join("\n"), ...(id !== undefined && { id }) };
}
