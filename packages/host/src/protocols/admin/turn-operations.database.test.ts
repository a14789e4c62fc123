import { describe, expect, test } from "vitest";
import type { PrincipalRef } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { changesIn, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { assistant, context } from "../../../test/records.ts";
import {
  beginTurn,
  endedEntry,
  eventEntries,
  progress,
  turnToBegin,
  waitingEntry,
} from "../../../test/turn-journals.ts";
import type { OperatedTurn } from "../../admin-contract/index.ts";

interface Page {
  turns: OperatedTurn[];
  next?: string;
}

type Inspected = OperatedTurn & { events: { sequence: number; type: string }[] };

const path = "/admin/v1/turns";
const helper: PrincipalRef = { kind: "agent", agentId: "helper" };

function idsOf({ turns }: Page): string[] {
  return turns.map(({ state }) => state.executionId);
}

/** Begins a turn of the tenant, and writes what else there is of it. */
async function begin(
  { stores }: Office,
  namespaceId: string,
  id: string,
  entries: Parameters<Awaited<ReturnType<typeof beginTurn>>["write"]>[0] = [],
  changes: Parameters<typeof turnToBegin>[2] = {},
) {
  const writer = await beginTurn(stores.turns, turnToBegin(namespaceId, id, changes));
  if (entries.length > 0) await writer.write(entries, progress);
  return writer;
}

describe.each(databaseKinds)("turns for operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("a turn is shown with who started it, whether it runs without its caller, its host, its state and its events", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await begin(adminApi, namespaceId, "a/b ä", eventEntries(0, 2));
    const { status, body } = await adminApi.get<Inspected>(`${path}/${namespaceId}/a%2Fb%20%C3%A4`);
    expect([status, body]).toMatchObject([
      200,
      {
        namespaceId,
        actor: assistant,
        isAsync: true,
        hostId: (await open()).hostId,
        state: { version: 1, executionId: "a/b ä", traceId: "trace-1", agent: assistant, status: "running", steps: 1 },
        events: [
          { sequence: 0, type: "turn.started" },
          { sequence: 1, type: "runtime.event" },
        ],
      },
    ]);
    expect(body.state).not.toHaveProperty("result");
  });

  test("the list has the turns of one tenant or of all, newest first, page by page", async () => {
    const adminApi = await office();
    const [namespaceId, other] = [newTenant(), newTenant()];
    for (const id of ["one", "two", "three"]) await begin(adminApi, namespaceId, id);
    await begin(adminApi, other, "four");
    const first = (await adminApi.get<Page>(path, { namespaceId, limit: 2 })).body;
    expect(idsOf(first)).toEqual(["three", "two"]);
    const second = (await adminApi.get<Page>(path, { namespaceId, limit: 2, before: first.next ?? "" })).body;
    expect([idsOf(second), second.next]).toEqual([["one"], undefined]);
    const everywhere = (await adminApi.get<Page>(path, { limit: 2 })).body;
    expect(everywhere.turns.map((turn) => [turn.namespaceId, turn.state.executionId])).toEqual([
      [other, "four"],
      [namespaceId, "three"],
    ]);
  });

  test("the list is filtered by who started a turn, together with its state, page by page", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    for (const [id, actor] of [
      ["one", helper],
      ["two", assistant],
      ["three", helper],
      ["four", helper],
    ] as const)
      await begin(adminApi, namespaceId, id, id === "four" ? [endedEntry(id)] : [], {
        context: context({ namespaceId, executionId: id, actor }),
      });
    const query = { namespaceId, actor: "agent:helper" };
    const first = (await adminApi.get<Page>(path, { ...query, limit: 2 })).body;
    expect(idsOf(first)).toEqual(["four", "three"]);
    expect(idsOf((await adminApi.get<Page>(path, { ...query, limit: 2, before: first.next ?? "" })).body)).toEqual([
      "one",
    ]);
    expect(idsOf((await adminApi.get<Page>(path, { ...query, status: "running" })).body)).toEqual(["three", "one"]);
    const everywhere = await adminApi.get<Refusal>(path, { actor: "agent:helper" });
    expect([everywhere.status, everywhere.body.error.message]).toEqual([
      400,
      "/actor: expected together with namespaceId, because actors belong to a tenant.",
    ]);
  });

  test("the list is filtered by when a turn started: not before one instant, and before another", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const instants = [-2, -1, 0].map((seconds) => new Date(Date.now() + seconds * 1000).toISOString());
    const [first = "", second = "", third = ""] = instants;
    for (const startedAt of instants) await begin(adminApi, namespaceId, startedAt, [], { startedAt });
    const listed = async (query: Record<string, string>): Promise<string[]> =>
      idsOf((await adminApi.get<Page>(path, { namespaceId, ...query })).body);
    expect(await listed({ from: second })).toEqual([third, second]);
    expect(await listed({ until: second })).toEqual([first]);
    expect(await listed({ from: second, until: third })).toEqual([second]);
    expect(await listed({ from: "0001-01-01T00:00:00Z", until: "9999-12-31T23:59:59Z" })).toHaveLength(3);
    expect(await listed({ until: "2001-01-01T00:00:00Z" })).toEqual([]);
  });

  test("the list is filtered by one state or by several", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await begin(adminApi, namespaceId, "runs");
    await begin(adminApi, namespaceId, "waits", [waitingEntry("q1", "2099-01-01T00:00:00.000Z")]);
    await begin(adminApi, namespaceId, "ended", [endedEntry("ended")]);
    const found = async (status: string) => idsOf((await adminApi.get<Page>(path, { namespaceId, status })).body);
    expect(await found("waiting")).toEqual(["waits"]);
    expect(await found("running,waiting")).toEqual(["waits", "runs"]);
    expect(await found("succeeded")).toEqual(["ended"]);
  });

  test("of an id that two actors used the newest turn is shown, and the one that is asked for", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const ofHelper = { context: context({ namespaceId, executionId: "same", actor: helper }) };
    await begin(adminApi, namespaceId, "same");
    await begin(adminApi, namespaceId, "same", [], ofHelper);
    const actorOf = async (query?: Record<string, string>) =>
      (await adminApi.get<Inspected>(`${path}/${namespaceId}/same`, query)).body.actor;
    expect(await actorOf()).toEqual(helper);
    expect(await actorOf({ actor: "agent:assistant" })).toEqual(assistant);
    await adminApi.send("operator", "POST", `${path}/${namespaceId}/same/cancel?actor=agent:assistant`);
    const changes = await changesIn(adminApi, namespaceId);
    expect(changes.map(({ receiver }) => receiver)).toEqual([assistant, assistant]);
  });

  test("a turn of another tenant, or of none, is not found", async () => {
    const adminApi = await office();
    const [namespaceId, other] = [newTenant(), newTenant()];
    await begin(adminApi, namespaceId, "turn-1");
    for (const place of [`${other}/turn-1`, `${namespaceId}/turn-2`, `${namespaceId}/turn-1?actor=agent:helper`]) {
      const { status, body } = await adminApi.send("operator", "GET", `${path}/${place}`);
      expect([status, body.error.message]).toEqual([404, "There is no turn of this id in this tenant."]);
    }
    const { status } = await adminApi.send<Refusal>("operator", "POST", `${path}/${other}/turn-1/cancel`);
    expect([status, await changesIn(adminApi, other)]).toEqual([404, []]);
  });

  test("a cancelled turn is told to stop, the engine is woken, and the audit log says who did it", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const writer = await begin(adminApi, namespaceId, "turn-1");
    const { status, body } = await adminApi.send<OperatedTurn>(
      "operator",
      "POST",
      `${path}/${namespaceId}/turn-1/cancel`,
    );
    expect([status, body.state.status]).toEqual([200, "running"]);
    expect(writer.stop.aborted).toBe(true);
    expect(adminApi.wakes()).toBe(1);
    expect(await changesIn(adminApi, namespaceId)).toMatchObject([
      { outcome: "allowed", action: "turn.cancel", receiver: assistant, metadata: { turn: "turn-1" } },
      { outcome: "succeeded", action: "turn.cancel", receiver: assistant, metadata: { turn: "turn-1" } },
    ]);
  });

  test("cancelling a turn that waits lets a host take it", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await begin(adminApi, namespaceId, "waits", [waitingEntry("q1", "2099-01-01T00:00:00.000Z")]);
    await adminApi.send("operator", "POST", `${path}/${namespaceId}/waits/cancel`);
    const { body } = await adminApi.get<Inspected>(`${path}/${namespaceId}/waits`);
    expect([body.state.status, body.hostId, body.state.escalation]).toEqual(["running", undefined, undefined]);
    expect(await adminApi.stores.turns.unattended(1000)).not.toEqual([]);
  });

  test("a turn that has ended stays as it is when it is cancelled, and nothing is recorded", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await begin(adminApi, namespaceId, "ended", [endedEntry("ended")]);
    const { status, body } = await adminApi.send<OperatedTurn>(
      "operator",
      "POST",
      `${path}/${namespaceId}/ended/cancel`,
    );
    expect([status, body.state.status]).toEqual([200, "succeeded"]);
    expect([await changesIn(adminApi, namespaceId), adminApi.wakes()]).toEqual([[], 0]);
  });
});
