import { describe, expect, test } from "vitest";
import { defineTool } from "turnpike/kernel";
import type { RuntimePlugin } from "turnpike/runtime";
import { z } from "zod";
import { databaseKinds, newTenant, openPair } from "../../test/databases.ts";
import { alice, assistant, grant } from "../../test/records.ts";
import { grantOver, openTenant, openWiredHost } from "../../test/wired-host.ts";
import { entriesOfRow } from "../turns/journal/turn-rows.ts";
import { openStores, type Stores } from "./stores.ts";

// A host decides by what it has cached, and learns with the write of the decision whether that is outdated. What another host
// acknowledged before a call must count for it all the same.

const at = "2026-01-01T12:00:00Z";
const namespaces = ["files", "notes", "service.execution", "service.messaging"];
const resource = { namespace: "files", path: ["a"] };

/** A host that is asked, the stores of another one that changes something, and the effects that there were by tenant. */
async function openHosts() {
  const [here, there] = await openPair();
  const effects: string[] = [];
  const note = defineTool({
    name: "notes.note",
    description: "Counts its calls.",
    namespace: "notes",
    readWrite: "write",
    input: z.strictObject({}),
    output: z.strictObject({}),
    requires: { action: "note", resource: { namespace: "notes", path: [] } },
    run(_input, { context }) {
      effects.push(context.namespaceId);
      return {};
    },
  });
  const careful = defineTool({
    name: "careful.act",
    description: "Needs an approval each time.",
    namespace: "careful",
    readWrite: "write",
    input: z.strictObject({}),
    output: z.strictObject({}),
    requires: { action: "act", resource: { namespace: "careful", path: [] } },
    run: () => ({}),
  });
  let afterCall = (_id: string): Promise<unknown> => Promise.resolve();
  let second = note.descriptor.name;
  const runtime: RuntimePlugin = {
    manifest: { id: "twice", version: "1" },
    async run({ message: { traceId } }, host) {
      const call = { arguments: {}, requestedAt: at, traceId };
      await host.invokeTool({ id: "first", tool: "notes.note", ...call });
      await afterCall("first");
      const { status } = await host.invokeTool({ id: "second", tool: second, ...call });
      await afterCall("second");
      return { type: "complete", output: status };
    },
  };
  const host = await openWiredHost(here, { runtime, tools: [note, careful] });
  const other = openStores(there);
  let ids = 0;
  /** The requests of the bearer of a token. Each has an id of its own. */
  const requestsOf = (token: string) => {
    const send = async (path: string, body: object): Promise<unknown> => {
      const answer = await host.post(token, path, body);
      if (answer.status !== 200) return answer.status;
      return answer.body["allowed"] ?? answer.body["output"] ?? answer.body["status"];
    };
    const newId = (): string => `id-${(ids += 1)}`;
    const message = (sender: object, receiver: object) => {
      const own = { id: newId(), createdAt: at, traceId: "trace-1", purpose: "support" };
      return { version: 1, ...own, sender, receiver, payload: "hello" };
    };
    return {
      authorize: () => send("/v1/authorize", { action: "read", resource }),
      tool: () =>
        send("/v1/tools/invoke", {
          id: newId(),
          tool: "notes.note",
          arguments: {},
          requestedAt: at,
          traceId: "trace-1",
        }),
      async mcp() {
        const params = { name: "notes.note", arguments: {} };
        const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
        const call = { jsonrpc: "2.0", id: newId(), method: "tools/call", params };
        const { status, body } = await host.post(token, "/mcp", call, { headers });
        const { _meta: said } = (body["result"] ?? {}) as { _meta?: { "turnpike/error": { status: string } } };
        return status === 200 ? (said?.["turnpike/error"].status ?? "succeeded") : status;
      },
      resource: () =>
        send("/v1/resources/invoke", { operationId: newId(), action: "append", resource, input: { content: "!" } }),
      message: () => send("/v1/messages", message(assistant, alice)),
      /** Makes two calls, and something after the first, and after the second. */
      turn(between: () => Promise<unknown>, after = (): Promise<unknown> => Promise.resolve(), tool = "notes.note") {
        second = tool;
        afterCall = (id) => (id === "first" ? between() : after());
        const body = { version: 1, executionId: newId(), agent: assistant, message: message(alice, assistant) };
        return send("/v1/turns", body);
      },
    };
  };
  /** Everything that the requests could have changed. */
  const stateOf = async (namespaceId: string): Promise<unknown[]> => [
    effects.filter((tenant) => tenant === namespaceId).length,
    (await other.files.read({ namespaceId, owner: alice }, ["a"]))?.content,
    (await other.messages.inbox({ namespaceId, receiver: alice }, { limit: 100 })).length,
  ];
  /** A tenant that the other host has made. */
  const open = async () => {
    const tenant = newTenant();
    const credential = await openTenant(other, tenant, namespaces);
    await other.files.create({ namespaceId: tenant, owner: alice }, ["a"], "a");
    return { tenant, credential, requests: requestsOf(credential.token) };
  };
  return { there, host, other, requestsOf, stateOf, open };
}

type Opened = Awaited<ReturnType<Awaited<ReturnType<typeof openHosts>>["open"]>>;

const withdrawals: Record<string, (other: Stores, opened: Opened) => Promise<unknown>> = {
  "revokes the grant": (other, { tenant }) => other.grants.revoke(tenant, "everything", at),
  "revokes the credential": (other, { credential }) => other.credentials.revoke(credential.id, at),
  "deletes the tenant": (other, { tenant }) =>
    other.tenants.begin(tenant, { actor: alice, operator: "operator-1", at }),
};

describe.runIf(databaseKinds.includes("postgres"))("what another host has acknowledged", () => {
  for (const [name, withdraw] of Object.entries(withdrawals)) {
    test(`counts for the next call of any kind, also of a turn that runs: it ${name}`, async () => {
      const { other, stateOf, open } = await openHosts();
      for (const kind of ["authorize", "tool", "mcp", "resource", "message"] as const) {
        const opened = await open();
        const { tenant, requests } = opened;
        await requests[kind]();
        const before = await stateOf(tenant);
        await withdraw(other, opened);
        const answer = await requests[kind]();
        expect([false, "denied", 401]).toContain(answer);
        expect(await stateOf(tenant)).toEqual(before);
      }
      const opened = await open();
      const answer = await opened.requests.turn(() => withdraw(other, opened));
      expect(answer).toBe("denied");
      expect(await stateOf(opened.tenant)).toEqual([1, "a", 0]);
    });

    test(`counts for the next turn: it ${name}`, async () => {
      const { there, other, stateOf, open } = await openHosts();
      const opened = await open();
      const { tenant, requests } = opened;
      const nothing = () => Promise.resolve();
      expect(await requests.turn(nothing)).toBe("succeeded");
      await withdraw(other, opened);
      expect(["denied", 401]).toContain(await requests.turn(nothing));
      expect(await stateOf(tenant)).toEqual([2, "a", 0]);
      expect(await there.db.selectFrom("running_turns").selectAll().execute()).toEqual([]);
      const turns = there.db.selectFrom("turns").select("status").where("namespace_id", "=", tenant);
      const statuses = (await turns.execute()).map(({ status }) => status).toSorted();
      // A caller who is not admitted any more begins none.
      expect(statuses).toEqual(name === "revokes the grant" ? ["denied", "succeeded"] : ["succeeded"]);
    });
  }

  test("counts for the next call when it switches tools off", async () => {
    const { other, stateOf, open } = await openHosts();
    const { tenant, requests } = await open();
    const off = () => other.settings.change({ namespaceId: tenant, actor: assistant }, { disable: ["notes"] });
    expect(await requests.turn(off)).toBe("denied");
    expect(await requests.tool()).toBe("denied");
    expect(await stateOf(tenant)).toEqual([1, "a", 0]);
  });

  test("counts before a person is asked to approve a call of a turn", async () => {
    const { there, other, open } = await openHosts();
    for (const { isOff, asked } of [
      { isOff: false, asked: 1 },
      { isOff: true, asked: 0 },
    ]) {
      const { tenant, requests } = await open();
      const change = (patch: object) => other.settings.change({ namespaceId: tenant, actor: assistant }, patch);
      const capability = {
        resource: { namespace: "careful", path: [] },
        actions: ["act"],
        scope: "descendants" as const,
        approval: "each" as const,
      };
      await other.grants.issue(grant("careful", { namespaceId: tenant, capabilities: [capability] }));
      await change({ enable: ["careful"] });
      const between = () => (isOff ? change({ disable: ["careful"] }) : Promise.resolve());
      expect(await requests.turn(between, undefined, "careful.act")).toBe("denied");
      const rows = there.db.selectFrom("escalations").select("id").where("namespace_id", "=", tenant);
      expect(await rows.execute()).toHaveLength(asked);
    }
  });

  test("admits at once what it grants, also the bearer of a new token", async () => {
    const { other, requestsOf, open } = await openHosts();
    const { tenant, credential, requests } = await open();
    await other.grants.revoke(tenant, "everything", at);
    expect(await requests.tool()).toBe("denied");
    await other.grants.issue(grantOver("again", tenant, namespaces));
    expect(await requests.tool()).toEqual({});
    const token = await other.credentials.rotate(credential.id, new Date());
    expect(await requestsOf(token ?? "").tool()).toEqual({});
    expect(await requests.tool()).toBe(401);
  });

  test("that does not concern a call lets it happen once, and shows nowhere", async () => {
    const { host, other, stateOf, open } = await openHosts();
    const { tenant, requests } = await open();
    const elsewhere = () => other.grants.issue(grantOver("other", newTenant(), namespaces));
    await requests.tool();
    await elsewhere();
    expect(await requests.tool()).toEqual({});
    expect(await requests.turn(elsewhere)).toBe("succeeded");
    expect(await stateOf(tenant)).toEqual([4, "a", 0]);
    const events = (await host.stores.audit.list(tenant, { limit: 500 })).map(({ event }) => event);
    const called = events.filter(({ type }) => type === "tool.invoked");
    expect(called.map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded", "succeeded", "succeeded"]);
    expect(new Set(events.map(({ outcome }) => outcome))).toEqual(new Set(["allowed", "succeeded"]));
    expect(await host.stores.audit.verify(tenant)).not.toHaveProperty("broken", expect.anything());
  });

  test("that does not concern a turn lets it begin once, and shows nowhere", async () => {
    const { host, there, other, stateOf, open } = await openHosts();
    const { tenant, requests } = await open();
    const nothing = () => Promise.resolve();
    await requests.turn(nothing);
    await other.grants.issue(grantOver("other", newTenant(), namespaces));
    expect(await requests.turn(nothing)).toBe("succeeded");
    expect(await stateOf(tenant)).toEqual([4, "a", 0]);
    const turns = there.db.selectFrom("turns").select("status").where("namespace_id", "=", tenant);
    expect(await turns.execute()).toEqual([{ status: "succeeded" }, { status: "succeeded" }]);
    const events = (await host.stores.audit.list(tenant, { limit: 500 })).map(({ event }) => event);
    const countOf = (type: string) => events.filter((event) => event.type === type).length;
    expect([countOf("turn.started"), countOf("turn.ended"), countOf("tool.catalog.listed")]).toEqual([2, 2, 2]);
  });

  test("a call of a turn that was tried again is stored with its turn once", async () => {
    const { there, other, open } = await openHosts();
    const { requests } = await open();
    const elsewhere = () => other.grants.issue(grantOver("other", newTenant(), namespaces));
    let stored: unknown[] = [];
    const read = async (): Promise<void> => {
      const rows = there.db.selectFrom("turn_entries").select(["kind", "content"]).orderBy("position");
      const entries = (await rows.execute()).flatMap(entriesOfRow);
      stored = entries.flatMap((entry) => {
        if (entry.kind === "call") return `call ${entry.call.id}`;
        return entry.kind === "result" ? `result ${entry.callId}` : [];
      });
    };
    await requests.turn(elsewhere, read);
    expect(stored).toEqual(["call first", "result first", "call second", "result second"]);
  });

  test("a refusal of a call of a turn that was tried again is recorded nowhere", async () => {
    const { host, other, open } = await openHosts();
    const { tenant, requests } = await open();
    const change = (patch: object) => other.settings.change({ namespaceId: tenant, actor: assistant }, patch);
    const offAndOn = async (): Promise<void> => {
      await change({ disable: ["notes"] });
      expect(await requests.tool()).toBe("denied");
      await change({ enable: ["notes"] });
    };
    expect(await requests.turn(offAndOn)).toBe("succeeded");
    const events = (await host.stores.audit.list(tenant, { limit: 500 })).map(({ event }) => event);
    const second = events.filter(({ operationId }) => operationId === "second");
    expect(second.map(({ type, outcome }) => [type, outcome])).toEqual([
      ["tool.invoked", "succeeded"],
      ["authorization.checked", "allowed"],
    ]);
  });
});
