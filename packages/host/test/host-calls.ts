import { setTimeout as delay } from "node:timers/promises";
import { requireDocumented } from "./documented.ts";

/** One answer of a host, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; undefined when it is none. */
  body: unknown;
}

/** What a request brings. */
export interface Ask {
  token?: string;
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  /** How the body is read; to its end unless given. */
  read?(response: Response): Promise<string>;
}

/** Sends one request to a host, whose answer has to be one that the API description of the host has. */
export async function ask(url: string, path: string, request: Ask = {}): Promise<Answer> {
  const { token, headers, body, read = (answer) => answer.text() } = request;
  const method = request.method ?? (body === undefined ? "GET" : "POST");
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await read(response);
  const answer = { status: response.status, headers: response.headers, text, body: parse(text) };
  requireDocumented({ method, path, ...answer });
  return answer;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** For `vi.waitFor` and `vi.waitUntil`: time enough on a busy machine. */
export const patience = { timeout: 60_000, interval: 10 };

/** Tries again until a check holds, or fails with what it last threw. */
export async function eventually<T>(check: () => T | Promise<T>, deadlineMs = patience.timeout): Promise<T> {
  const start = Date.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const waited = Date.now() - start;
      if (waited > deadlineMs) throw error;
      // What is waited for needs the processor, too: the longer it takes, the less often it is polled.
      await delay(Math.min(5 + waited / 20, 50));
    }
  }
}
