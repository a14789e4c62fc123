import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { askIn, bob, openOffice, queryText, type Office, type Refusal } from "../../../test/office.ts";
import { access, alice, auditEvent, grant } from "../../../test/records.ts";
import { beginTurn, turnToBegin } from "../../../test/turn-journals.ts";
import type { AdmittedOperator } from "../../access/index.ts";
import type { AdminOutput, Found, OperatorRole } from "../../admin-contract/index.ts";
import { withBudget } from "../../shared/index.ts";
import type { AdminServices } from "./admin-services.ts";
import { searchOperations } from "./search-operations.ts";

type Answer = AdminOutput<"search">;

const path = "/admin/v1/search";

describe.each(databaseKinds)("searching on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());
  const find = async ({ get }: Office, namespaceId: string, text: string, limit = 20): Promise<Found[]> =>
    (await get<Answer>(path, { namespaceId, text, limit })).body.found;
  /** Searches as an operator of a role and perhaps of one tenant. */
  const findAs = async (
    { stores, handler }: Office,
    who: { role?: OperatorRole; tenant?: string },
    query: { namespaceId: string; text: string },
  ) => {
    const operator = { actor: bob, owner: bob, purposes: ["operate"], admin: true as const, ...who };
    const { token } = await stores.credentials.create({ namespaceId: "operators", access: operator });
    const request = new Request(`http://host.test${path}?${queryText(query)}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const response = await handler(request);
    if (response === undefined) throw new Error("There is no answer.");
    return { status: response.status, body: (await response.json()) as Answer & Refusal };
  };

  /** One of everything, named after a word. */
  const fill = async ({ stores }: Office, namespaceId: string, word: string) => {
    const resource = { namespace: "files", path: [`${word}-notes`] };
    const capabilities = [{ resource, actions: ["read"], scope: "exact" as const }];
    const subject = { kind: "agent", agentId: `${word}-agent` } as const;
    await stores.grants.issue(grant(`${word}-grant`, { namespaceId, subject, capabilities }));
    await beginTurn(stores.turns, turnToBegin(namespaceId, `${word}-turn`));
    await stores.audit.record(
      auditEvent(`${word}-event`, { namespaceId, traceId: `${word}-trace`, tool: `${word}.tool` }),
    );
    const { id } = await stores.credentials.create({
      id: `${word}-credential-${namespaceId}`,
      namespaceId,
      access: { ...access, actor: { kind: "service", serviceId: "robot" } },
    });
    const { id: escalationId } = await askIn(stores, namespaceId);
    return { credentialId: id, escalationId };
  };

  test("everything is found by a part of its name, in any case", async () => {
    const place = await office();
    const namespaceId = newTenant();
    const { credentialId } = await fill(place, namespaceId, "blue");
    const found = await find(place, namespaceId, "BLUE");
    expect(found.map((one) => `${one.kind} ${one.id}`).toSorted()).toEqual([
      `credential ${credentialId}`,
      "grant blue-grant",
      "principal agent:blue-agent",
      "resource files/blue-notes",
      "tool blue.tool",
      "trace blue-trace",
      "turn blue-turn",
    ]);
    expect(found.find((one) => one.kind === "turn")).toEqual({
      kind: "turn",
      id: "blue-turn",
      about: "running, of agent:assistant",
      actor: { kind: "agent", agentId: "assistant" },
    });
    expect(found.find((one) => one.kind === "grant")?.about).toBe("to agent:blue-agent, from human:alice");
    expect(await find(place, namespaceId, "messages.s")).toEqual([{ kind: "tool", id: "messages.send" }]);
    expect(await find(place, namespaceId, "green")).toEqual([]);
  });

  test("an escalation is found by its id", async () => {
    const place = await office();
    const namespaceId = newTenant();
    const { escalationId } = await fill(place, namespaceId, "blue");
    expect(await find(place, namespaceId, escalationId)).toEqual([
      { kind: "escalation", id: escalationId, about: "pending" },
    ]);
  });

  test("what is named exactly so comes first, then what begins so, and one kind leaves room for others", async () => {
    const place = await office();
    const namespaceId = newTenant();
    for (const id of ["xnotes", "notes-2", "notes"]) await place.stores.grants.issue(grant(id, { namespaceId }));
    for (let number = 10; number < 30; number += 1)
      await place.stores.grants.issue(grant(`zz-notes-${number}`, { namespaceId }));
    await beginTurn(place.stores.turns, turnToBegin(namespaceId, "my-notes"));
    const found = await find(place, namespaceId, "notes", 50);
    expect(found.slice(0, 3).map(({ kind: one, id }) => `${one} ${id}`)).toEqual([
      "grant notes",
      "resource files/notes",
      "grant notes-2",
    ]);
    expect(found.filter((one) => one.kind === "grant")).toHaveLength(10);
    expect(found.at(-1)).toMatchObject({ kind: "turn", id: "my-notes" });
    const { body } = await place.get<Answer>(path, { namespaceId, text: "notes", limit: 2 });
    expect([body.found.length, body.isPartial]).toEqual([2, true]);
  });

  test("a whole name is found however many there are; a part of one among so many, and that is said", async () => {
    const place = await office();
    const { db } = await open();
    const namespaceId = newTenant();
    const rows = Array.from({ length: 600 }, (_, number) => {
      const [id, agentId] = [`many-${1000 + number}`, `many-${1000 + number}`];
      const content = JSON.stringify(grant(id, { namespaceId, subject: { kind: "agent", agentId } }));
      return {
        namespace_id: namespaceId,
        id,
        subject: `agent:${agentId}`,
        issuer: "human:alice",
        parent_id: null,
        content,
      };
    });
    await db.insertInto("grants").values(rows).execute();
    expect(await find(place, namespaceId, "many-1599")).toEqual([
      { kind: "grant", id: "many-1599", about: "to agent:many-1599, from human:alice" },
    ]);
    expect(await find(place, namespaceId, "agent:many-1599")).toEqual([{ kind: "principal", id: "agent:many-1599" }]);
    const { body } = await place.get<Answer>(path, { namespaceId, text: "1599" });
    expect(body).toEqual({ found: [], isPartial: true });
  });

  test("nothing of another tenant is found, not even by its whole id", async () => {
    const place = await office();
    const [namespaceId, other] = [newTenant(), newTenant()];
    const { credentialId, escalationId } = await fill(place, other, "blue");
    for (const text of [
      "blue",
      "blue-grant",
      "blue-turn",
      "blue-trace",
      "agent:blue-agent",
      credentialId,
      escalationId,
    ])
      expect([text, await find(place, namespaceId, text)]).toEqual([text, []]);
    const refused = await findAs(place, { tenant: namespaceId }, { namespaceId: other, text: "blue" });
    const unknown = await findAs(place, { tenant: namespaceId }, { namespaceId: "nowhere", text: "blue" });
    expect([refused.status, refused.body.error.code, refused.body.error.message]).toEqual([
      403,
      "permission_denied",
      unknown.body.error.message,
    ]);
    expect((await findAs(place, { tenant: other }, { namespaceId: other, text: "blue" })).body.found).toHaveLength(7);
  });

  test("a reviewer finds what a reviewer may read, and nothing else", async () => {
    const place = await office();
    const namespaceId = newTenant();
    const { credentialId, escalationId } = await fill(place, namespaceId, "blue");
    for (const text of ["blue", "blue-grant", credentialId, "agent:blue-agent", "blue-trace"])
      expect((await findAs(place, { role: "reviewer" }, { namespaceId, text })).body).toEqual({ found: [] });
    const { found } = (await findAs(place, { role: "reviewer" }, { namespaceId, text: escalationId })).body;
    expect(found.map((one) => one.kind)).toEqual(["escalation"]);
    expect((await findAs(place, { role: "auditor" }, { namespaceId, text: "blue" })).body.found).toHaveLength(7);
  });

  test("a search pauses between what it reads, and ends when its budget does", async () => {
    const { stores } = await office();
    const services = { stores, toolNames: () => Promise.resolve([]), clock: () => new Date() };
    const { search } = searchOperations(services as unknown as AdminServices);
    let slices = 0;
    const findIn = (most: number) => {
      slices = 0;
      const nextSlice = async (): Promise<void> => {
        slices += 1;
        if (slices > most) throw new Error("It is over.");
        return Promise.resolve();
      };
      const asked = { namespaceId: newTenant(), text: "blue", limit: 9 };
      return withBudget({ nextSlice }, () => search(asked, { role: "auditor" } as AdmittedOperator, {} as never));
    };
    expect(await findIn(Infinity)).toEqual({ found: [] });
    expect(slices).toBeGreaterThanOrEqual(7);
    await expect(findIn(1)).rejects.toThrow("It is over.");
  });

  test("a text that no column stores, and one that is empty, are answered", async () => {
    const place = await office();
    const namespaceId = newTenant();
    await place.stores.grants.issue(grant("nul\0-x", { namespaceId, issuer: alice }));
    expect(await find(place, namespaceId, "nul\0-x")).toMatchObject([{ kind: "grant", id: "nul\0-x" }]);
    expect(await find(place, namespaceId, "%_\\'\"")).toEqual([]);
    expect((await place.get<Refusal>(path, { namespaceId, text: "  " })).status).toBe(400);
  });
});
