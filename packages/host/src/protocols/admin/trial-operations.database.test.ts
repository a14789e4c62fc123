import { describe, expect, test, vi } from "vitest";
import type { ToolResult } from "turnpike/contracts";
import { defineTool, type ToolHandler } from "turnpike/kernel";
import { z } from "zod";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { patience } from "../../../test/host-calls.ts";
import { bob, changesIn, officeTime, oona, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { enterAs } from "../../../test/operators.ts";
import { access, alice, assistant, grant } from "../../../test/records.ts";
import type { CredentialAccess, EscalationRecord, OperatedTurn } from "../../admin-contract/index.ts";

/** A tool that says who called it. */
const whoami: ToolHandler = defineTool({
  name: "service.whoami",
  description: "Says who acts, and for what.",
  namespace: "service",
  source: "test",
  readWrite: "read",
  input: z.strictObject({}),
  output: z.unknown(),
  requires: { action: "read", resource: { namespace: "service", path: ["whoami"] } },
  run: (_input, { context: { actor, authority, owner, purpose, namespaceId } }) =>
    Promise.resolve({ actor, authority, owner, purpose, namespaceId }),
});

const reading = grant("reading", {
  capabilities: [
    { resource: { namespace: "service", path: ["whoami"] }, actions: ["read"], scope: "exact" },
    { resource: { namespace: "service.execution", path: ["agent", "assistant"] }, actions: ["invoke"], scope: "exact" },
  ],
});

interface Place {
  office: Office;
  namespaceId: string;
  credentialId: string;
}

type Trial = Pick<Place, "namespaceId" | "credentialId"> & { purpose?: string };

function listTools({ get }: Office, trial: Trial) {
  return get<{ tools: { name: string }[] }>("/admin/v1/tools", { ...trial });
}

function tryTool({ post }: Office, trial: Trial, tool = "service.whoami") {
  return post<ToolResult & Refusal>("/admin/v1/tools/try", { ...trial, tool, arguments: {} });
}

function startTurn({ post }: Office, trial: Trial, agent = "assistant") {
  return post<OperatedTurn & Refusal>("/admin/v1/turns", { ...trial, agent, payload: { read: "notes/today" } });
}

describe.each(databaseKinds)("trials as the bearer of a credential on %s", (kind) => {
  const open = sharedDatabase(kind);

  /** A tenant in which the assistant may use the tool, and a credential of the assistant's. */
  async function enter(changes: Partial<CredentialAccess> = {}): Promise<Place> {
    const office = await openOffice(await open(), { kernel: { tools: [whoami] } });
    const namespaceId = newTenant();
    await office.stores.grants.issue({ ...reading, namespaceId });
    const context = { actor: assistant, authority: alice, owner: alice, namespaceId, now: officeTime };
    const more = { purpose: "support", traceId: "trace-1", enabledToolNamespaces: [] };
    await office.stores.settings.applyUpdate(
      { ...context, ...more },
      { enable: ["service"] },
      AbortSignal.timeout(9e4),
    );
    const { id } = await office.stores.credentials.create({ namespaceId, access: { ...access, ...changes } });
    return { office, namespaceId, credentialId: id };
  }

  test("the tools are those that the bearer is offered, and listing them is in no audit log", async () => {
    const { office, ...trial } = await enter();
    const { status, body } = await listTools(office, trial);
    expect([status, body.tools.map(({ name }) => name)]).toEqual([200, ["service.whoami"]]);
    const other = await office.stores.credentials.create({ ...trial, access: { ...access, actor: bob } });
    expect((await listTools(office, { ...trial, credentialId: other.id })).body.tools).toEqual([]);
    expect(await office.stores.audit.list(trial.namespaceId, { limit: 9 })).toEqual([]);
  });

  test("a tool is called in exactly the context that the bearer acts in", async () => {
    const { office, ...trial } = await enter();
    const { namespaceId } = trial;
    for (const purpose of [undefined, "billing"]) {
      const { status, body } = await tryTool(office, { ...trial, ...(purpose && { purpose }) });
      const context = { actor: assistant, authority: alice, owner: alice, purpose: purpose ?? "support", namespaceId };
      expect([status, body]).toMatchObject([200, { status: "succeeded", output: context }]);
    }
  });

  test("the audit log names the operator, the credential and the tool, in one trace with what the tool did", async () => {
    const { office, ...trial } = await enter();
    const { body } = await tryTool(office, trial);
    const events = (await office.stores.audit.list(trial.namespaceId, { limit: 9 })).map(({ event }) => event);
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set(["operator.changed", "authorization.checked", "tool.invoked"]),
    );
    expect(new Set(events.map(({ traceId }) => traceId)).size).toBe(1);
    const metadata = { operator: office.operatorId, credential: trial.credentialId, tool: "service.whoami" };
    expect(await changesIn(office, trial.namespaceId)).toMatchObject([
      { outcome: "allowed", action: "tool.try", receiver: assistant, metadata: { ...metadata, call: body.callId } },
      { outcome: "succeeded", action: "tool.try" },
    ]);
  });

  test("every row that a trial causes names the operator beside the actor, who tried nothing", async () => {
    const { office, ...trial } = await enter();
    const triedBy = { actor: oona, credential: office.operatorId };
    await tryTool(office, trial);
    const { body } = await startTurn(office, trial);
    expect(body.triedBy).toEqual(triedBy);
    await vi.waitUntil(async () => {
      const turn = await office.stores.turns.findBy(trial.namespaceId, body.state.executionId, assistant);
      return turn?.state.completedAt !== undefined;
    }, patience);
    const rows = await office.stores.audit.list(trial.namespaceId, { limit: 99 });
    const caused = rows.flatMap(({ event }) => (event.type === "operator.changed" ? [] : [event]));
    expect(new Set(caused.map(({ type }) => type))).toEqual(
      new Set(["authorization.checked", "tool.catalog.listed", "tool.invoked", "turn.started", "turn.ended"]),
    );
    for (const event of caused) expect(event).toMatchObject({ actor: assistant, metadata: { triedBy } });
  });

  test("an act that an operator tries is answered by others alone, and another who tries it too joins the escalation", async () => {
    const { office, ...trial } = await enter();
    const { namespaceId } = trial;
    await office.stores.grants.revoke(namespaceId, "reading", officeTime);
    const [capability] = reading.capabilities;
    if (capability === undefined) throw new Error("The grant has no capability.");
    const capabilities = [{ ...capability, approval: "each" as const }];
    await office.stores.grants.issue({ ...reading, id: "asking", namespaceId, capabilities });
    const tried = await tryTool(office, trial);
    const details = tried.body.status === "denied" ? tried.body.error.details : undefined;
    const escalation = { namespaceId, id: details?.["escalationId"], ask: details?.["requestHash"] };
    const path = "/admin/v1/escalations";
    const mine = { actor: oona, credential: office.operatorId };
    const shown = await office.get<{ escalation: EscalationRecord }>(`${path}/${namespaceId}/${String(escalation.id)}`);
    expect(shown.body.escalation).toMatchObject({ requester: assistant, triedBy: mine });
    const carol = { kind: "human", userId: "carol" } as const;
    const asCarol = await office.postAs(carol);
    await asCarol("/admin/v1/tools/try", { ...trial, tool: "service.whoami", arguments: {} });
    const joined = await office.get<{ escalation: EscalationRecord }>(
      `${path}/${namespaceId}/${String(escalation.id)}`,
    );
    expect(joined.body.escalation.triedBy).toMatchObject([mine, { actor: carol }]);
    // With every credential that they have, and neither way.
    for (const post of [office.post, await office.postAs(oona), asCarol])
      for (const [answer, more] of [
        ["approve", {}],
        ["deny", { reason: "No." }],
      ] as const)
        expect((await post<Refusal>(`${path}/${answer}`, { ...escalation, ...more })).status).toBe(403);
    const asBob = await office.postAs(bob);
    expect((await asBob(`${path}/approve`, escalation)).status).toBe(200);
    for (const post of [office.post, asCarol])
      expect((await post<Refusal>(`${path}/withdraw`, escalation)).status).toBe(403);
    expect((await asBob(`${path}/withdraw`, escalation)).status).toBe(200);
  });

  test("what the bearer may not do is denied to the operator too, for every operator", async () => {
    const { office, ...trial } = await enter();
    await office.stores.grants.revoke(trial.namespaceId, "reading", officeTime);
    expect((await tryTool(office, trial)).body).toMatchObject({
      status: "denied",
      error: { code: "tool_unavailable" },
    });
  });

  test("a turn begins in the background, with a message of the owner, and is listed as any other", async () => {
    const { office, ...trial } = await enter();
    const { namespaceId } = trial;
    const { status, body } = await startTurn(office, trial);
    const { executionId } = body.state;
    expect([status, body]).toMatchObject([201, { namespaceId, actor: assistant, isAsync: true }]);
    await vi.waitFor(async () => {
      const path = `/admin/v1/turns/${namespaceId}/${executionId}`;
      expect((await office.get<OperatedTurn>(path)).body.state.status).toBe("succeeded");
    }, patience);
    expect(await changesIn(office, namespaceId)).toMatchObject([
      { outcome: "allowed", action: "turn.try", metadata: { credential: trial.credentialId, turn: executionId } },
      { outcome: "succeeded", action: "turn.try" },
    ]);
    const listed = await office.get<{ turns: OperatedTurn[] }>("/admin/v1/turns", { namespaceId });
    expect(listed.body.turns.map(({ state }) => state.executionId)).toEqual([executionId]);
    expect(office.errors).toEqual([]);
  });

  test("a turn of a credential that allows no message of its owner does not begin", async () => {
    const { office, ...trial } = await enter({ senders: [bob] });
    const { status, body } = await startTurn(office, trial);
    expect([status, body.error.code]).toEqual([403, "sender_not_allowed"]);
    expect(await changesIn(office, trial.namespaceId)).toMatchObject([
      { outcome: "allowed" },
      { outcome: "failed", reason: "sender_not_allowed" },
    ]);
  });

  test("a purpose that the credential does not allow is refused", async () => {
    const { office, ...trial } = await enter();
    const { status, body } = await tryTool(office, { ...trial, purpose: "espionage" });
    expect([status, body.error.code]).toEqual([403, "purpose_not_allowed"]);
  });

  describe("nothing is done, and nothing is in the audit log,", () => {
    const rows: { name: string; refused: [number, string]; choose(place: Place): Promise<Trial> }[] = [
      {
        name: "with a credential of another tenant",
        refused: [404, "not_found"],
        async choose({ office, namespaceId }) {
          const other = await office.stores.credentials.create({ namespaceId: newTenant(), access });
          return { namespaceId, credentialId: other.id };
        },
      },
      {
        name: "with a credential that is not there",
        refused: [404, "not_found"],
        choose: ({ namespaceId }) => Promise.resolve({ namespaceId, credentialId: "0".repeat(16) }),
      },
      {
        name: "with a credential that was revoked",
        refused: [409, "conflict"],
        async choose({ office, namespaceId, credentialId }) {
          await office.stores.credentials.revoke(credentialId, officeTime);
          return { namespaceId, credentialId };
        },
      },
      {
        name: "with a credential that has expired",
        refused: [409, "conflict"],
        async choose({ office, namespaceId }) {
          const made = await office.stores.credentials.create({ namespaceId, access, expiresAt: officeTime });
          return { namespaceId, credentialId: made.id };
        },
      },
      {
        name: "with an operator's own credential",
        refused: [403, "permission_denied"],
        choose: ({ office }) => Promise.resolve({ namespaceId: "operators", credentialId: office.operatorId }),
      },
      {
        name: "with an operator's credential in the tenant itself",
        refused: [403, "permission_denied"],
        async choose({ office, namespaceId }) {
          const admin = { ...access, admin: true };
          return {
            namespaceId,
            credentialId: (await office.stores.credentials.create({ namespaceId, access: admin })).id,
          };
        },
      },
      {
        name: "in a tenant that was deleted",
        refused: [404, "not_found"],
        async choose({ office, namespaceId, credentialId }) {
          await office.stores.tenants.begin(namespaceId, { actor: bob, operator: "bob", at: officeTime });
          return { namespaceId, credentialId };
        },
      },
    ];
    for (const { name, refused, choose } of rows) {
      test(name, async () => {
        const place = await enter();
        const { office } = place;
        const trial = await choose(place);
        const before = await changesIn(office, trial.namespaceId);
        for (const send of [listTools, tryTool, startTurn]) {
          const { status, body } = await send(office, trial);
          expect([status, (body as Refusal).error.code]).toEqual(refused);
        }
        expect(await changesIn(office, trial.namespaceId)).toEqual(before);
        expect(await office.stores.audit.list(place.namespaceId, { limit: 9 })).toEqual([]);
      });
    }

    for (const role of ["auditor", "reviewer"] as const) {
      test(`by an operator with the role ${role}`, async () => {
        const { office, ...trial } = await enter();
        const operator = await enterAs(office, role);
        const call = { ...trial, tool: "service.whoami", arguments: {} };
        expect((await operator.send("/admin/v1/tools/try", call)).status).toBe(403);
        const turn = { ...trial, agent: "assistant", payload: {} };
        expect((await operator.send("/admin/v1/turns", turn)).status).toBe(403);
        expect(await office.stores.audit.list(trial.namespaceId, { limit: 9 })).toEqual([]);
      });
    }
  });
});
