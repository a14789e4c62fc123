import { inject } from "vitest";

/** How the client of orval sends: where to, and as whom. */
export async function send<Answer>(url: string, options: RequestInit): Promise<Answer> {
  const headers = { ...options.headers, authorization: `Bearer ${inject("token")}` };
  const response = await fetch(`${inject("url")}${url}`, { ...options, headers });
  const text = await response.text();
  return {
    data: text === "" ? undefined : JSON.parse(text),
    status: response.status,
    headers: response.headers,
  } as Answer;
}
