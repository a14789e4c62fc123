import { createEventReader } from "./event-reader.ts";
import { withExactNumbers } from "./exact-numbers.ts";
import { isWithinJsonLimits, type JsonLimits } from "./json-limits.ts";
import { tooLargeCode } from "./line-reader.ts";
import { createRateLimiter } from "./rate-limiter.ts";

/** Thrown for an answer that is larger than it may be. */
export class AnswerTooLargeError extends Error {
  override readonly name = "AnswerTooLargeError";
}

/** The limits of one exchange. */
export interface ExchangeLimits {
  /** The limit of an answer, and of each message of a stream. */
  maxBytes: number;
  /** The limit of the whole exchange. Messages of a stream do not extend it. */
  timeoutMs: number;
  /** How much structure a message may have, for a server that is not trusted. */
  json?: JsonLimits;
  /** Called once, when the server sends more messages in a stream than are read. */
  onFlood?(): void;
}

/** The limits of an answer that may be a stream. */
export interface StreamLimits extends ExchangeLimits {
  onFlood(): void;
}

/** How many times the bytes of one message a whole stream may have, including everything before the answer. */
const streamFactor = 4;
const maxMessagesPerSecond = 1000;

/** Whether an answer of this type is a stream of messages. */
export function isEventStream(contentType = ""): boolean {
  return /^text\/event-stream\s*(;|$)/i.test(contentType);
}

/** A whole answer within the limits. Throws for one that is larger. */
export async function readWhole(body: AsyncIterable<Uint8Array>, { maxBytes, json }: ExchangeLimits): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new AnswerTooLargeError(`An answer has at most ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  checkStructure(whole, json);
  return withExactNumbers(whole);
}

function checkStructure(message: Buffer, json: JsonLimits | undefined): void {
  if (json === undefined || isWithinJsonLimits(message, json)) return;
  throw new AnswerTooLargeError(`An answer has at most ${json.maxNodes} parts, ${json.maxDepth} levels deep.`);
}

/**
 * The messages of a stream that are within the limits. A message that is too large ends the stream with an error for the
 * request.
 */
export async function* readMessages(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, json, onFlood }: StreamLimits,
  id: string | number | undefined,
): AsyncGenerator<Buffer> {
  const tooLarge = (): Error => new AnswerTooLargeError(`A message has at most ${maxBytes} bytes.`);
  const readEvents = createEventReader(maxBytes, tooLarge);
  const rate = createRateLimiter(maxMessagesPerSecond, { onFlood });
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > streamFactor * maxBytes) throw tooLarge();
      for (const message of readEvents(chunk)) {
        checkStructure(message, json);
        await rate.turn();
        yield withExactNumbers(message);
      }
    }
  } catch (error) {
    if (!(error instanceof AnswerTooLargeError)) throw error;
    const answer = { jsonrpc: "2.0", id, error: { code: tooLargeCode, message: "The answer is too large." } };
    yield Buffer.from(JSON.stringify(answer));
  }
}
