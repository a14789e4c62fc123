import { setTimeout as delay } from "node:timers/promises";

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
}

/** Sends one request to a host. */
export async function ask(url: string, path: string, { token, method, headers, body }: Ask = {}): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
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
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(5);
    }
  }
}
