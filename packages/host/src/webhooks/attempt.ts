import { version } from "../shared/index.ts";
import type { Taken } from "./outbox.ts";
import { sign, type Webhook } from "./webhook.ts";

/** The outcome of an attempt: the status of the answer, or why there was none. */
export type Attempt = { status: number } | { error: string };

/** Why an attempt failed, in the words that operators read. */
export function failureText(answer: Attempt): string {
  return "status" in answer ? `answered ${answer.status}` : `no answer: ${answer.error}`;
}

const maxAnswerBytes = 65_536;

/** Sends a message once. It never throws, and of the receiver's answer it returns the status alone. */
export async function attempt(
  { url, secret }: Webhook,
  { message, content }: Taken,
  at: Date,
  signal: AbortSignal,
): Promise<Attempt> {
  const timestamp = Math.floor(at.getTime() / 1000);
  const headers = {
    "content-type": "application/json",
    "user-agent": `turnpike/${version}`,
    "webhook-id": message,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign(secret, message, timestamp, content),
  };
  try {
    // A redirect could lead to a server that the operator did not name, so it counts as a failure.
    const response = await fetch(url, { method: "POST", redirect: "manual", headers, body: content, signal });
    await discard(response.body).catch(() => {});
    return { status: response.status };
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

/** Reads a short answer to its end, so that the connection can be used again. A long one is cut off. */
async function discard(body: ReadableStream<Uint8Array> | null): Promise<void> {
  let left = maxAnswerBytes;
  for await (const chunk of body ?? []) {
    left -= chunk.length;
    if (left < 0) return;
  }
}

/** The code of the system's error, or the name of another: its message may quote the URL. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  if (typeof cause?.code === "string") return cause.code;
  return error instanceof Error ? error.name : typeof error;
}
