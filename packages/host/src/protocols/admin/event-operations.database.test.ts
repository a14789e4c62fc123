import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { readEvents, type EventReader } from "../../../test/event-streams.ts";
import {
  askIn,
  escalation,
  openOffice,
  queryText,
  type Office,
  type OfficeOptions,
  type Refusal,
} from "../../../test/office.ts";
import { enterAs } from "../../../test/operators.ts";
import { assistant, auditEvent } from "../../../test/records.ts";
import { beginTurn, endedEntry, eventEntries, progress, turnToBegin } from "../../../test/turn-journals.ts";

interface FollowOptions {
  token?: string;
  cursor?: string;
  lastEventId?: string;
}

async function ask(office: Office, namespaceId: string, options: FollowOptions = {}): Promise<Response> {
  const { token = office.tokens.operator, cursor, lastEventId } = options;
  const query = queryText({ namespaceId, ...(cursor !== undefined && { cursor }) });
  const headers = {
    authorization: `Bearer ${token}`,
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
  const response = await office.handler(new Request(`http://host/admin/v1/events?${query}`, { headers }));
  if (response === undefined) throw new Error("The path is not the operators'.");
  return response;
}

async function follow(office: Office, namespaceId: string, options: FollowOptions = {}): Promise<EventReader> {
  const response = await ask(office, namespaceId, options);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  return readEvents(response);
}

async function refusal(office: Office, namespaceId: string, options: FollowOptions): Promise<unknown[]> {
  const response = await ask(office, namespaceId, options);
  const { error } = (await response.json()) as Refusal;
  return [response.status, error.code, error.message];
}

describe.each(databaseKinds)("following a tenant on %s", (kind) => {
  const open = sharedDatabase(kind);
  const enter = async (options?: OfficeOptions): Promise<Office> => openOffice(await open(), options);
  const record = ({ stores }: Office, namespaceId: string, id: string): Promise<void> =>
    stores.audit.record(auditEvent(id, { namespaceId }));

  test("rows of its audit log, its turns and how many escalations wait are told as they come, and nothing of others", async () => {
    const office = await enter();
    const [namespaceId, other] = [newTenant(), newTenant()];
    await record(office, namespaceId, "old");
    const stream = await follow(office, namespaceId);
    expect(await stream.next()).toEqual({ id: "0.1", event: { kind: "waiting", count: 0 } });
    for (const tenant of [other, namespaceId]) await record(office, tenant, `new of ${tenant}`);
    expect(await stream.take("trail", 1)).toEqual([
      { kind: "trail", strand: 0, sequence: 2, event: auditEvent(`new of ${namespaceId}`, { namespaceId }) },
    ]);
    await askIn(office.stores, other);
    await askIn(office.stores, namespaceId);
    expect(await stream.take("waiting", 1)).toEqual([{ kind: "waiting", count: 1 }]);
    const writer = await beginTurn(office.stores.turns, turnToBegin(namespaceId, "turn-1"));
    const turn = { kind: "turn", actor: assistant, executionId: "turn-1" };
    expect(await stream.take("turn", 1)).toMatchObject([{ ...turn, status: "running", events: 0 }]);
    await writer.write(eventEntries(0, 2), progress);
    expect(await stream.take("turn", 1)).toMatchObject([{ ...turn, status: "running", events: 2 }]);
    await writer.write([endedEntry("turn-1")], progress);
    expect(await stream.take("turn", 1)).toMatchObject([{ ...turn, status: "succeeded", events: 2 }]);
    await stream.leave();
  });

  test("a turn that begins and ends between two polls is reported", async () => {
    const office = await enter();
    const namespaceId = newTenant();
    const stream = await follow(office, namespaceId);
    await stream.next();
    const writer = await beginTurn(office.stores.turns, turnToBegin(namespaceId, "quick"));
    await writer.write([endedEntry("quick", { completedAt: office.time.now })], progress);
    let [turn] = await stream.take("turn", 1);
    if (turn?.status === "running") [turn] = await stream.take("turn", 1);
    expect(turn).toMatchObject({ executionId: "quick", status: "succeeded" });
    await stream.leave();
  });

  test("a cursor continues behind its event; the id that a browser sends counts before the one in the address", async () => {
    const office = await enter();
    const namespaceId = newTenant();
    for (const id of ["1", "2", "3"]) await record(office, namespaceId, id);
    const rowsBehind = async (options: FollowOptions, count: number): Promise<number[]> => {
      const stream = await follow(office, namespaceId, options);
      const rows = await stream.take("trail", count);
      await stream.leave();
      return rows.map(({ sequence }) => sequence);
    };
    expect(await rowsBehind({ cursor: "0.1" }, 2)).toEqual([2, 3]);
    expect(await rowsBehind({ lastEventId: "0.0" }, 3)).toEqual([1, 2, 3]);
    expect(await rowsBehind({ cursor: "0.0", lastEventId: "0.2" }, 1)).toEqual([3]);
  });

  test("a cursor that is none, and one behind rows that never were, are refused with what to do", async () => {
    const office = await enter();
    const namespaceId = newTenant();
    await record(office, namespaceId, "1");
    const text = "/cursor: expected the id of an event of this stream, such as 0.123. Leave it out to begin now.";
    expect(await refusal(office, namespaceId, { cursor: "yesterday" })).toEqual([400, "invalid_request", text]);
    expect(await refusal(office, namespaceId, { lastEventId: "7" })).toEqual([400, "invalid_request", text]);
    expect(await refusal(office, namespaceId, { cursor: "0.2" })).toEqual([
      400,
      "invalid_request",
      "/cursor: the audit log does not go that far; was it restored? Leave the cursor out to begin now.",
    ]);
  });

  test("reviewers are told only how many escalations wait", async () => {
    const office = await enter();
    const namespaceId = newTenant();
    const { token } = await enterAs(office, "reviewer", namespaceId);
    const stream = await follow(office, namespaceId, { token, cursor: "0.0" });
    await record(office, namespaceId, "1");
    await beginTurn(office.stores.turns, turnToBegin(namespaceId, "turn-1"));
    expect(await stream.next()).toEqual({ id: undefined, event: { kind: "waiting", count: 0 } });
    await askIn(office.stores, namespaceId);
    expect(await stream.next()).toEqual({ id: undefined, event: { kind: "waiting", count: 1 } });
    await stream.leave();
  });

  test("an escalation that was not answered in time waits no more", async () => {
    const office = await enter({ escalationMs: 60_000 });
    const namespaceId = newTenant();
    await askIn(office.stores, namespaceId, escalation());
    const stream = await follow(office, namespaceId);
    expect(await stream.take("waiting", 1)).toEqual([{ kind: "waiting", count: 1 }]);
    office.time.now = "2026-01-01T12:01:00.001Z";
    expect(await stream.take("waiting", 1)).toEqual([{ kind: "waiting", count: 0 }]);
    await stream.leave();
  });

  test("operators of another tenant are refused", async () => {
    const office = await enter();
    const { token } = await enterAs(office, "admin", newTenant());
    const said = await refusal(office, newTenant(), { token });
    expect(said).toEqual([403, "permission_denied", "You are an operator of another tenant."]);
  });

  test("the stream of an operator ends when their credential is revoked, although nothing happens", async () => {
    const office = await enter();
    const namespaceId = newTenant();
    const { id, token } = await enterAs(office, "auditor");
    const stream = await follow(office, namespaceId, { token });
    await stream.next();
    const ended = stream.next();
    await office.stores.credentials.revoke(id, new Date().toISOString());
    expect(await ended).toBeUndefined();
  });

  test("the stream of an operator ends when their credential gets another token, although nothing happens", async () => {
    const office = await enter();
    const { id, token } = await enterAs(office, "auditor");
    const stream = await follow(office, newTenant(), { token });
    await stream.next();
    const ended = stream.next();
    await office.stores.credentials.rotate(id, new Date());
    expect(await ended).toBeUndefined();
  });

  test("the stream of a session ends when its operator signs out, although their credential stays valid", async () => {
    const office = await enter();
    const send = async (path: string, headers: Record<string, string>, body?: object): Promise<Response> => {
      const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const response = await office.handler(new Request(`http://host${path}`, { headers, ...sent }));
      if (response === undefined) throw new Error("The path is not the operators'.");
      return response;
    };
    const begun = await send("/admin/v1/sessions", {}, { token: office.tokens.operator });
    const [cookie = ""] = (begun.headers.get("set-cookie") ?? "").split(";");
    const { pageSecret } = (await begun.json()) as { pageSecret: string };
    const halves = { cookie, "x-turnpike-console": pageSecret };
    const namespaceId = newTenant();
    const stream = readEvents(await send(`/admin/v1/events?${queryText({ namespaceId })}`, halves));
    expect(await stream.next()).toEqual({ id: "0.0", event: { kind: "waiting", count: 0 } });
    const ended = stream.next();
    await send("/admin/v1/sessions/end", halves, {});
    expect(await ended).toBeUndefined();
    await (await follow(office, namespaceId)).leave();
  });

  test("streams of a tenant that is deleted end, and none begins", async () => {
    const office = await enter();
    const namespaceId = newTenant();
    const stream = await follow(office, namespaceId);
    await stream.next();
    await record(office, namespaceId, "1");
    await office.post("/admin/v1/tenants/delete", { namespaceId, confirm: namespaceId });
    for (;;) if ((await stream.next()) === undefined) break;
    expect((await refusal(office, namespaceId, {})).slice(0, 2)).toEqual([404, "not_found"]);
  });

  test("a credential that has as many streams as it may is told to close one", async () => {
    const office = await enter({ maxStreams: 1 });
    const namespaceId = newTenant();
    const stream = await follow(office, namespaceId);
    expect((await refusal(office, namespaceId, {})).slice(0, 2)).toEqual([429, "rate_limited"]);
    await stream.leave();
    await (await follow(office, namespaceId)).leave();
  });
});
