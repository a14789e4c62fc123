import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { auditEvent } from "../../test/records.ts";
import { requestList } from "./admin-request.ts";

vi.stubEnv("TURNPIKE_ADMIN_TOKEN", "tp_operator");
afterAll(() => vi.unstubAllEnvs());

/** A host whose list has pages with so many events each; the requests that it got. */
async function startHost(
  pages: readonly number[],
): Promise<{ flags: { url: string; database: string }; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "", "http://host").searchParams;
    asked.push(`limit ${query.get("limit")}, cursor ${query.get("cursor")}`);
    const page = Number(query.get("cursor") ?? 0);
    const events = Array.from({ length: pages[page] ?? 0 }, (_, place) => ({
      strand: 0,
      sequence: place + 1,
      event: auditEvent(`event-${page}-${place}`),
    }));
    const next = page + 1 < pages.length ? { cursor: String(page + 1) } : {};
    response.end(JSON.stringify({ events, ...next }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { flags: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, database: "none" }, asked };
}

test("a list goes on behind pages that are short or empty, to its end", async () => {
  const { flags, asked } = await startHost([0, 2, 0, 1]);
  const answer = await requestList(flags, "listAudit", "events", { namespaceId: "acme" });
  expect(answer.events.map(({ event }) => event.id)).toEqual(["event-1-0", "event-1-1", "event-3-0"]);
  expect(answer).not.toHaveProperty("cursor");
  expect(asked).toEqual(["limit 50, cursor null", "limit 50, cursor 1", "limit 48, cursor 2", "limit 48, cursor 3"]);
});

test("a list stops when it has as many as were asked for, and says where it goes on", async () => {
  const { flags, asked } = await startHost([1, 2, 5]);
  const answer = await requestList(flags, "listAudit", "events", { namespaceId: "acme", limit: 3 });
  expect(answer.events).toHaveLength(3);
  expect(answer.cursor).toBe("2");
  expect(asked).toEqual(["limit 3, cursor null", "limit 2, cursor 1"]);
});
