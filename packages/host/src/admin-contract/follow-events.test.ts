import { expect, test } from "vitest";
import { createAdminClient, type AdminClient, type FollowedEvent } from "./index.ts";

/** What the host answers to each attempt: events by their ids, then the stream breaks off; a status; or no host is there. */
type Attempt = readonly number[] | number | "unreachable";

const encoder = new TextEncoder();

function waitingText(count: number): string {
  return `:\n\nid: 0.${count}\ndata: {"kind":"waiting","count":${count}}\n\n`;
}

/** A client of a host that answers like this, one attempt after the other, and the URLs that were asked. */
function clientOf(attempts: readonly Attempt[]): { client: AdminClient; asked: string[] } {
  const asked: string[] = [];
  const fetch = (url: URL): Promise<Response> => {
    const attempt = attempts[asked.length] ?? 401;
    asked.push(url.search);
    if (attempt === "unreachable") return Promise.reject(new Error("fetch failed"));
    if (typeof attempt === "number")
      return Promise.resolve(
        Response.json({ error: { code: `code_${attempt}`, message: "No." } }, { status: attempt }),
      );
    const body = new ReadableStream({
      start(stream) {
        for (const count of attempt) stream.enqueue(encoder.encode(waitingText(count)));
        if (asked.length % 2 === 0) stream.close();
      },
      pull: (stream) => stream.error(new Error("broken")),
    });
    return Promise.resolve(new Response(body));
  };
  const client = createAdminClient({
    url: "http://host",
    token: "tp_1",
    fetch: fetch as typeof globalThis.fetch,
    retryMs: 1,
  });
  return { client, asked };
}

async function readAll(
  events: AsyncIterable<FollowedEvent>,
): Promise<{ heard: (string | undefined)[]; error: unknown }> {
  const heard: (string | undefined)[] = [];
  try {
    for await (const { cursor } of events) heard.push(cursor);
  } catch (error) {
    return { heard, error };
  }
  return { heard, error: undefined };
}

test("a stream that breaks off is opened again behind the last event, while no host answers, and until it is refused", async () => {
  const { client, asked } = clientOf([[1, 2], [3], "unreachable", 503, 429, [], [4], 401]);
  const { heard, error } = await readAll(client.follow({ namespaceId: "acme", cursor: "0.0" }));
  expect(heard).toEqual(["0.1", "0.2", "0.3", "0.4"]);
  expect(asked.map((query) => new URLSearchParams(query).get("cursor"))).toEqual([
    "0.0",
    "0.2",
    ...Array.from({ length: 5 }, () => "0.3"),
    "0.4",
  ]);
  expect(error).toMatchObject({ code: "code_401", status: 401 });
});

for (const [name, attempt, code] of [
  ["no host answers", "unreachable", "unreachable"],
  ["the host refuses it", 403, "code_403"],
  ["the host cannot right now", 503, "code_503"],
] as const) {
  test(`a stream that never began fails when ${name}`, async () => {
    const { client, asked } = clientOf([attempt]);
    expect((await readAll(client.follow({ namespaceId: "acme" }))).error).toMatchObject({ code });
    expect(asked).toEqual(["?namespaceId=acme"]);
  });
}

test("an event of another version is reported, and not passed over", async () => {
  const body = 'data: {"kind":"storm"}\n\n';
  const fetch = (): Promise<Response> => Promise.resolve(new Response(body));
  const client = createAdminClient({ url: "http://host", token: "tp_1", fetch });
  expect((await readAll(client.follow({ namespaceId: "acme" }))).error).toMatchObject({ code: "invalid_response" });
});

test("a follower can stop, while events come and while the host is away", async () => {
  const leaving = new AbortController();
  const { client, asked } = clientOf([[1], [2], "unreachable", "unreachable"]);
  const heard: unknown[] = [];
  for await (const { cursor } of client.follow({ namespaceId: "acme", signal: leaving.signal })) {
    heard.push(cursor);
    if (cursor === "0.2") leaving.abort();
  }
  expect([heard, asked.length]).toEqual([["0.1", "0.2"], 2]);
});
