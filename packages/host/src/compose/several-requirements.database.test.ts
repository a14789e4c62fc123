import { describe, expect, test } from "vitest";
import type { Grant, ToolResult } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { createKernel, defineTool, ToolError } from "turnpike/kernel";
import { memoryGrants } from "turnpike/testing";
import { z } from "zod";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../test/databases.ts";
import { oona } from "../../test/office.ts";
import { context, grant } from "../../test/records.ts";
import { verifyAuditLog } from "../audit/audit-verify.ts";
import { protectFromReplay } from "../ledger/index.ts";
import type { Database } from "../storage/index.ts";
import { openStores } from "./stores.ts";

function at(address: string) {
  return { action: "call", resource: { namespace: "mail", path: ["send", address] } };
}

/** May send mail to this address, so often. */
function mayMail(namespaceId: string, address: string, maxUses: number, id = address): Grant {
  const { action, resource } = at(address);
  const capabilities = [{ resource, actions: [action], scope: "exact" as const }];
  return grant(id, { namespaceId, capabilities, constraints: { maxUses } });
}

/** The same, and a person approves each mail. */
function mayMailAfterAsking(namespaceId: string, addresses: readonly string[], maxUses: number): Grant {
  const capabilities = addresses.map((address) => ({
    resource: at(address).resource,
    actions: ["call"],
    scope: "exact" as const,
    approval: "each" as const,
  }));
  return grant("careful", { namespaceId, capabilities, constraints: { maxUses } });
}

/** A kernel on the stores of a database, a tool that mails several addresses, and what it sent. */
function mailOffice(database: Database, namespaceId: string, grants: readonly Grant[]) {
  const sent: string[][] = [];
  const { usage, decisions, audit, replay, permits, escalations } = openStores(database);
  const send = defineTool({
    name: "mail.send",
    description: "Sends a mail.",
    namespace: "mail",
    readWrite: "write",
    input: z.object({ to: z.array(z.string()) }),
    requires: {
      ceiling: { action: "call", resource: { namespace: "mail", path: ["send"] } },
      of({ to }) {
        if (to.length === 0) throw new ToolError("invalid_tool_arguments", "Name an address.");
        return to.map(at);
      },
    },
    run({ to }) {
      sent.push(to);
      return sent.length;
    },
  });
  const ports = { usage, ledger: decisions, audit, permits };
  const kernel = createKernel({ ...ports, grants: memoryGrants(grants), tools: [send] });
  const api = protectFromReplay(kernel as unknown as ServiceApi, { store: replay });
  const who = context({ namespaceId, enabledToolNamespaces: ["mail"] });
  const mail = (id: string, ...to: string[]): Promise<ToolResult> =>
    api.invokeTool(who, { id, tool: "mail.send", arguments: { to }, requestedAt: who.now, traceId: who.traceId });
  /** A person approves the only escalation that is open. */
  const approve = async (id: string): Promise<void> => {
    const record = await escalations.find(namespaceId, id, who.now);
    const { ask } = record ?? { ask: "" };
    await escalations.approve({ namespaceId, id, ask, by: "operator-1", person: oona, at: who.now });
  };
  return { mail, sent, approve, used: (id: string) => usage.used(namespaceId, id) };
}

function gist(result: ToolResult): string {
  return result.status === "succeeded" ? result.status : result.error.code;
}

async function decisionsOf({ db }: Database, tenant: string): Promise<string[]> {
  const rows = db.selectFrom("audit").select("content").where("namespace_id", "=", tenant);
  const events = (await rows.execute()).map(({ content }) => JSON.parse(content) as { type: string; outcome: string });
  return events.filter(({ type }) => type === "authorization.checked").map(({ outcome }) => outcome);
}

describe.each(databaseKinds)("a call that needs several things on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("of racing calls as many happen as the scarcest grant allows, and no other grant loses a use", async () => {
    const [database, tenant] = [await open(), newTenant()];
    const grants = [mayMail(tenant, "a", 5), mayMail(tenant, "b", 8), mayMail(tenant, "c", 50)];
    const { mail, sent, used } = mailOffice(database, tenant, grants);
    const results = await Promise.all(Array.from({ length: 20 }, (_one, place) => mail(`${place}`, "c", "b", "a")));
    expect(results.map(gist).filter((code) => code === "succeeded")).toHaveLength(5);
    expect(new Set(results.map(gist))).toEqual(new Set(["succeeded", "grant_exhausted"]));
    expect(sent).toHaveLength(5);
    expect([await used("a"), await used("b"), await used("c")]).toEqual([5, 5, 5]);
    const decisions = await decisionsOf(database, tenant);
    expect([decisions.length, decisions.filter((one) => one === "allowed").length]).toEqual([20, 5]);
    expect((await verifyAuditLog(database.db, tenant)).broken).toBeUndefined();
  });

  test("racing calls use every grant that covers the same place", async () => {
    const [database, tenant] = [await open(), newTenant()];
    const grants = [mayMail(tenant, "a", 3), mayMail(tenant, "a", 4, "a-too"), mayMail(tenant, "b", 50)];
    const { mail, used } = mailOffice(database, tenant, grants);
    const results = await Promise.all(Array.from({ length: 12 }, (_one, place) => mail(`${place}`, "a", "b")));
    expect(results.map(gist).filter((code) => code === "succeeded")).toHaveLength(7);
    expect([await used("a"), await used("a-too"), await used("b")]).toEqual([3, 4, 7]);
  });

  test("asked for again under its id, it happens once and takes its uses once", async () => {
    const [database, tenant] = [await open(), newTenant()];
    const { mail, sent, used } = mailOffice(database, tenant, [mayMail(tenant, "a", 9), mayMail(tenant, "b", 9)]);
    const first = await mail("same", "a", "b");
    expect(await mail("same", "a", "b")).toEqual(first);
    await Promise.allSettled([mail("other", "a", "b"), mail("other", "a", "b")]);
    expect(sent).toHaveLength(2);
    expect([await used("a"), await used("b")]).toEqual([2, 2]);
  });

  test("a denial leaves its id free, also that of a tool which cannot say what the arguments need", async () => {
    const [database, tenant] = [await open(), newTenant()];
    const { mail, sent, used } = mailOffice(database, tenant, [mayMail(tenant, "a", 9)]);
    expect(gist(await mail("one", "a", "secret"))).toBe("no_matching_grant");
    expect(await mail("one")).toMatchObject({ status: "denied", error: { code: "invalid_tool_arguments" } });
    expect(gist(await mail("one", "a"))).toBe("succeeded");
    expect(sent).toEqual([["a"]]);
    expect(await used("a")).toBe(1);
  });

  test("a person's approval and the uses of all grants are taken together, once", async () => {
    const [database, tenant] = [await open(), newTenant()];
    const grants = [mayMail(tenant, "a", 9), mayMailAfterAsking(tenant, ["b", "c"], 9)];
    const { mail, approve, sent, used } = mailOffice(database, tenant, grants);
    const asked = await mail("first", "a", "b", "c");
    expect(asked).toMatchObject({ status: "denied", error: { code: "approval_required" } });
    const { escalationId } = asked.status === "denied" ? { ...asked.error.details } : {};
    await approve(String(escalationId));
    const results = await Promise.all(["1", "2", "3", "4"].map((id) => mail(id, "a", "b", "c")));
    expect(results.map(gist).filter((code) => code === "succeeded")).toHaveLength(1);
    expect(sent).toEqual([["a", "b", "c"]]);
    expect([await used("a"), await used("careful")]).toEqual([1, 1]);
  });
});

test("two hosts on one PostgreSQL take the uses of several grants together or not at all", async () => {
  const tenant = newTenant();
  const grants = [mayMail(tenant, "a", 4), mayMail(tenant, "b", 6)];
  const offices = (await openPair()).map((database) => mailOffice(database, tenant, grants));
  const calls = offices.flatMap(({ mail }, host) =>
    Array.from({ length: 8 }, (_one, place) =>
      place % 2 === 0 ? mail(`${host}-${place}`, "a", "b") : mail(`${host}-${place}`, "b", "a"),
    ),
  );
  const results = await Promise.all(calls);
  expect(results.map(gist).filter((code) => code === "succeeded")).toHaveLength(4);
  expect([await offices[0]?.used("a"), await offices[1]?.used("b")]).toEqual([4, 4]);
});
