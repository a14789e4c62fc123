import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { operatorToken, requestList } from "./admin-request.ts";
import type { HostPlace, UsedContext } from "./find-host.ts";

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

test("a list continues behind pages that are short or empty, to its end", async () => {
  const { flags, asked } = await startHost([0, 2, 0, 1]);
  const answer = await requestList(flags, "listAudit", "events", { namespaceId: "acme" });
  expect(answer.events.map(({ event }) => event.id)).toEqual(["event-1-0", "event-1-1", "event-3-0"]);
  expect(answer).not.toHaveProperty("cursor");
  expect(asked).toEqual(["limit 50, cursor null", "limit 50, cursor 1", "limit 48, cursor 2", "limit 48, cursor 3"]);
});

test("a list stops when it has as many as were asked for, and says where it continues", async () => {
  const { flags, asked } = await startHost([1, 2, 5]);
  const answer = await requestList(flags, "listAudit", "events", { namespaceId: "acme", limit: 3 });
  expect(answer.events).toHaveLength(3);
  expect(answer.cursor).toBe("2");
  expect(asked).toEqual(["limit 3, cursor null", "limit 2, cursor 1"]);
});

describe("the token that an operator's request is sent with", () => {
  const context: UsedContext = {
    url: "https://gate.test",
    kind: "operator",
    actor: "human:carol",
    credentialId: "0123456789abcdef",
    name: "gate",
    isNamed: false,
  };
  const tokenWith = (used?: UsedContext): string => {
    const database = join(temporaryFolder(), "turnpike.db");
    writeFileSync(join(dirname(database), "admin-token"), "tp_beside\n");
    const place: HostPlace = {
      url: "https://gate.test",
      urlFrom: "",
      database,
      isUrlGiven: false,
      isDatabaseGiven: false,
      context: used,
    };
    vi.stubEnv("TURNPIKE_ADMIN_TOKEN", undefined);
    try {
      return operatorToken({ url: place.url, database, place });
    } catch (error) {
      return (error as Error).message;
    } finally {
      vi.stubEnv("TURNPIKE_ADMIN_TOKEN", "tp_operator");
    }
  };
  const needed = "This needs an operator's token: set TURNPIKE_ADMIN_TOKEN, or sign in with one: turnpike login\n";

  for (const { name, used, token } of [
    { name: "is the context's own", used: { ...context, token: "tp_stored" }, token: "tp_stored" },
    {
      name: "is beside the database of a context that names one",
      used: { ...context, database: "/srv/turnpike.db" },
      token: "tp_beside",
    },
    { name: "is beside the database when there is no context", used: undefined, token: "tp_beside" },
    {
      name: "is none of this machine when the context is signed out",
      used: context,
      token: `${needed}You are signed out of the context gate.`,
    },
    {
      name: "is none when the context is a caller's",
      used: { ...context, kind: "caller", token: "tp_caller", actor: "agent:helper" } as const,
      token: `${needed}The context gate is of agent:helper, who is no operator.`,
    },
  ])
    test(name, () => expect(tokenWith(used)).toBe(token));
});
