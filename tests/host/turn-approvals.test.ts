import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { openDatabase } from "../../packages/host/src/storage/index.ts";
import {
  answerAct,
  durableClient,
  followToEnd,
  guardedTurn,
  linesIn,
  makeDurableTenant,
  openActs,
  startDurableHost,
  stepsTurn,
} from "../support/durable-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { makeGrant } from "../support/host-world.ts";

/** A tenant whose assistant needs an approval for each guarded call. */
async function makeGuardedTenant(host: HostProcess) {
  const credential = await makeDurableTenant(host);
  await makeGrant(host, { id: "guarded", resource: "effects", actions: ["guard"], approval: "each" });
  return credential;
}

for (const kind of ["sqlite", "postgres"] as const)
  describe(`a call of an asynchronous turn that needs a person's approval, on ${kind}`, () => {
    const open = async (changes: Record<string, string> = {}) => {
      const folder = makeFolder();
      const location = kind === "postgres" ? await newLocation(kind) : join(folder, ".turnpike", "turnpike.db");
      const settings = { ...(kind === "postgres" && { database: location }), ...changes };
      let host = await startDurableHost(folder, settings);
      const { token } = await makeGuardedTenant(host);
      const client = durableClient(token, () => host.url);
      return {
        location,
        client,
        host: () => host,
        effects: () => linesIn(folder, "effects.log").toSorted(),
        waits: (id: string) =>
          eventually(async () => expect(await client.turn(id)).toMatchObject({ status: "waiting" })),
        /** Ends the process without warning, and starts another one. */
        async restart(meanwhile = async (): Promise<void> => {}) {
          await host.stop("SIGKILL");
          await meanwhile();
          host = await startDurableHost(folder, settings);
        },
      };
    };

    test("waits while the free one is done, runs once after its approval, and not after a denial, across kills", async () => {
      const { client, host, effects, waits, restart } = await open();
      await client.startTurn(guardedTurn("turn", 2));
      const following = followToEnd(client, "turn");
      await waits("turn");
      expect(effects()).toEqual(["turn 0"]);
      const { escalation, toolCalls } = await client.turn("turn");
      expect(escalation?.reason).toBe("effects.guarded needs a person's approval.");
      expect([JSON.stringify(escalation).includes("guarded-1"), toolCalls]).toEqual([false, 4]);

      await restart();
      await waits("turn");
      expect([...(await openActs(host())).keys()].toSorted()).toEqual(["turn guarded-1", "turn guarded-2"]);
      await answerAct(host(), "turn guarded-1", "approve");
      await eventually(() => expect(effects()).toEqual(["turn 0", "turn guarded-1"]));
      await waits("turn");
      expect([...(await openActs(host())).keys()]).toEqual(["turn guarded-2"]);

      await restart();
      await waits("turn");
      await answerAct(host(), "turn guarded-2", "deny");
      const events = await following;
      expect((await client.turn("turn")).result).toMatchObject({
        status: "succeeded",
        output: ["succeeded", "succeeded", "succeeded", "approval_denied"],
      });
      expect(effects()).toEqual(["turn 0", "turn guarded-1"]);
      for (const type of ["tool.requested", "tool.completed"])
        expect(events.filter((event) => event.type === type)).toHaveLength(4);
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, place) => place));
      expect(await client.turn("turn")).toMatchObject({ toolCalls: 4 });
      await host().stop();
    });

    test("is denied as expired when no one answers, also if that was long ago", async () => {
      const { client, host, location, effects, waits, restart } = await open();
      await client.startTurn(guardedTurn("turn", 1));
      await waits("turn");
      await restart(async () => {
        const { db, close } = await openDatabase(location);
        for (const table of ["turn_questions", "escalations"] as const)
          await db.updateTable(table).set({ expires_at: "2026-01-01T00:00:00.000Z" }).execute();
        await close();
      });
      await followToEnd(client, "turn");
      expect((await client.turn("turn")).result).toMatchObject({
        output: ["succeeded", "succeeded", "approval_expired"],
      });
      expect(effects()).toEqual(["turn 0"]);
      await host().stop();
    });

    test("is not revived by its approval when its grant was revoked before the turn resumed", async () => {
      const one = { "limits.concurrentTurns": "1", "limits.tenantTurns": "1", "limits.credentialTurns": "1" };
      const { client, host, effects, waits } = await open(one);
      await client.startTurn(guardedTurn("turn", 1));
      await waits("turn");
      // The one place is taken, so that the turn cannot resume before the grant is gone.
      await eventually(async () => expect((await client.startTurn(stepsTurn("long", 900))).status).toBe("running"));
      await answerAct(host(), "turn guarded-1", "approve");
      const token = host().operatorToken();
      const body = { namespaceId: "acme", id: "guarded" };
      expect((await ask(host().url, "/admin/v1/grants/revoke", { token, body })).status).toBe(200);
      await client.cancelTurn("long");
      await followToEnd(client, "turn");
      expect((await client.turn("turn")).result).toMatchObject({
        output: ["succeeded", "succeeded", "tool_unavailable"],
      });
      expect(effects().filter((line) => line.includes("guarded"))).toEqual([]);
      await host().stop();
    });
  });
