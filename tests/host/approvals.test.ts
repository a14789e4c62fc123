import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { databaseKinds, newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import { createRandom } from "../../packages/turnpike/test/random.ts";
import { appendCall, effectsIn, makeEffectTenant, placeFor, startEffectHost } from "../support/effect-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";

/** More on demand: `TURNPIKE_KILLS=1000 npx vitest run --project e2e tests/host/approvals.test.ts`. */
const kills = Number(process.env["TURNPIKE_KILLS"] ?? 6);
const share = { sqlite: Math.ceil(kills / 3), postgres: Math.ceil(kills / 10) };

interface Result {
  status: string;
  error?: { code: string; details?: { escalationId: string; requestHash: string; expiresAt: string } };
}

/** Appends a line, which needs an approval; the line is the act, whatever the id. */
async function append(host: HostProcess, token: string, id: string, line: string, until?: string): Promise<Answer> {
  const args = { line, ...(until !== undefined && { until }) };
  return ask(host.url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body: appendCall(id, "t", args) });
}

async function appendResult(...call: Parameters<typeof append>): Promise<Result> {
  return (await append(...call)).body as Result;
}

function answer(host: HostProcess, tenant: string, { error }: Result, how: "approve" | "deny"): Promise<Answer> {
  const { escalationId: id, requestHash } = error?.details ?? {};
  const body = { namespaceId: tenant, id, ask: requestHash, ...(how === "deny" && { reason: "No." }) };
  return ask(host.url, `/admin/v1/escalations/${how}`, { token: host.operatorToken(), body });
}

function codeOf({ status, error }: Result): string {
  return error?.code ?? status;
}

function effectsOf(folder: string, line: string): number {
  return effectsIn(folder).filter((one) => one === line).length;
}

for (const kind of databaseKinds) {
  describe(`an act that needs an approval on ${kind}`, () => {
    const folder = makeFolder();
    let where: { database?: string };
    let host: HostProcess;
    let token: string;
    beforeAll(async () => {
      where = await placeFor(kind);
      host = await startEffectHost(folder, where);
      token = await makeEffectTenant(host, { approval: "each" });
    });

    test("happens once after it, under whatever id; a changed argument is another act", async () => {
      const asked = await appendResult(host, token, "pay-1", "pay");
      expect(codeOf(asked)).toBe("approval_required");
      expect(await appendResult(host, token, "pay-2", "pay")).toMatchObject({
        error: { details: asked.error?.details },
      });
      expect(await answer(host, "acme", asked, "approve")).toMatchObject({
        status: 200,
        body: { escalation: { status: "approved", approval: { act: { arguments: { line: "pay" } } } } },
      });
      expect(codeOf(await appendResult(host, token, "pay-3", "pay more"))).toBe("approval_required");
      // The id of a call that was refused is free.
      expect(codeOf(await appendResult(host, token, "pay-1", "pay"))).toBe("succeeded");
      expect((await append(host, token, "pay-1", "pay")).headers.get("idempotency-replayed")).toBe("true");
      expect(codeOf(await appendResult(host, token, "pay-4", "pay"))).toBe("approval_required");
      expect([effectsOf(folder, "pay"), effectsOf(folder, "pay more")]).toEqual([1, 0]);
    });

    test("happens for one of forty calls that race for one approval", async () => {
      await answer(host, "acme", await appendResult(host, token, "race", "race"), "approve");
      const race = Array.from({ length: 40 }, (_, place) => appendResult(host, token, `race-${place}`, "race"));
      const codes = (await Promise.all(race)).map(codeOf);
      expect(codes.filter((code) => code === "succeeded")).toHaveLength(1);
      expect(new Set(codes)).toEqual(new Set(["succeeded", "approval_required"]));
      expect(effectsOf(folder, "race")).toBe(1);
    });

    test("does not happen when its grant is revoked between the approval and the act", async () => {
      const own = await makeEffectTenant(host, { tenant: "revoked", approval: "each" });
      await answer(host, "revoked", await appendResult(host, own, "1", "revoked"), "approve");
      const revoked = { namespaceId: "revoked", id: "effects" };
      const { status } = await ask(host.url, "/admin/v1/grants/revoke", { token: host.operatorToken(), body: revoked });
      expect(status).toBe(200);
      expect(codeOf(await appendResult(host, own, "2", "revoked"))).toBe("tool_unavailable");
      expect(effectsOf(folder, "revoked")).toBe(0);
    });

    test("does not happen after a denial, and a denial survives a restart", async () => {
      const asked = await appendResult(host, token, "no-1", "no");
      expect((await answer(host, "acme", asked, "deny")).status).toBe(200);
      expect(codeOf(await appendResult(host, token, "no-2", "no"))).toBe("approval_denied");
      await host.stop("SIGKILL");
      host = await startEffectHost(folder, where);
      expect(codeOf(await appendResult(host, token, "no-3", "no"))).toBe("approval_denied");
      expect(effectsOf(folder, "no")).toBe(0);
    });

    test("that was begun when its process died is not done again, and its approval is used", async () => {
      await answer(host, "acme", await appendResult(host, token, "held", "held", "never"), "approve");
      const held = append(host, token, "held", "held", "never").catch(() => "lost");
      while (effectsOf(folder, "held") === 0) await delay(5);
      await host.stop("SIGKILL");
      expect(await held).toBe("lost");
      host = await startEffectHost(folder, where);
      // A database server takes its time to notice that a process is gone.
      await eventually(async () =>
        expect((await append(host, token, "held", "held", "never")).body).toMatchObject({
          error: { code: "replay_interrupted" },
        }),
      );
      expect(codeOf(await appendResult(host, token, "again", "held", "never"))).toBe("approval_required");
      expect(effectsOf(folder, "held")).toBe(1);
    });

    test(
      `happens at most once for each approval, however often its process is killed: ${share[kind]} times`,
      { timeout: 180_000 + share[kind] * 10_000 },
      async () => {
        const random = createRandom(kind.length);
        const outcomes = new Map<string, number>();
        for (let kill = 0; kill < share[kind]; kill += 1) {
          const line = `kill-${kill}`;
          const asked = await appendResult(host, token, `${line}-ask`, line);
          expect(codeOf(asked)).toBe("approval_required");
          const approving = answer(host, "acme", asked, "approve").catch(() => "lost" as const);
          // Sometimes the approval itself is on its way when the process dies, mostly the acts that race for it.
          const isEarly = random.chance(0.2);
          if (!isEarly) await approving;
          const racing = [1, 2, 3].map((place) =>
            append(host, token, `${line}-${place}`, line).catch(() => "lost" as const),
          );
          await delay(random.below(12));
          await host.stop("SIGKILL");
          const answered = (await Promise.all(racing)).flatMap((one) => (one === "lost" ? [] : [one.body as Result]));
          const approved = await approving;
          host = await startEffectHost(folder, where);
          const acknowledged = answered.filter(({ status }) => status === "succeeded").length;
          const done = effectsOf(folder, line);
          expect(acknowledged).toBeLessThanOrEqual(done);
          expect(done).toBeLessThanOrEqual(1);
          // What is left of the approval lets it happen, once; an approval that was used never comes back.
          const rest = await appendResult(host, token, `${line}-rest`, line);
          const last = await appendResult(host, token, `${line}-last`, line);
          expect(effectsOf(folder, line)).toBeLessThanOrEqual(1);
          expect(codeOf(rest) === "succeeded" && done === 1).toBe(false);
          expect(codeOf(last)).toBe("approval_required");
          const how = approved === "lost" ? "approval lost" : `${done} done, then ${codeOf(rest)}`;
          outcomes.set(how, (outcomes.get(how) ?? 0) + 1);
        }
        expect([...outcomes.values()].reduce((sum, count) => sum + count, 0)).toBe(share[kind]);
      },
    );
  });
}

describe("two hosts on one PostgreSQL", () => {
  const folder = makeFolder();
  let hosts: readonly [HostProcess, HostProcess];
  let token: string;
  beforeAll(async () => {
    const database = await newLocation("postgres");
    hosts = await Promise.all([startEffectHost(folder, { database }), startEffectHost(folder, { database })]);
    token = await makeEffectTenant(hosts[0], { approval: "each" });
  });

  test("ask once about an act that is wanted on both, and let it happen once", async () => {
    const wanted = Array.from({ length: 20 }, (_, place) =>
      appendResult(hosts[place % 2 === 0 ? 0 : 1], token, `once-${place}`, "once"),
    );
    const asked = await Promise.all(wanted);
    expect(new Set(asked.map(({ error }) => error?.details?.escalationId)).size).toBe(1);
    await answer(hosts[1], "acme", asked[0] ?? { status: "" }, "approve");
    const race = Array.from({ length: 40 }, (_, place) =>
      appendResult(hosts[place % 2 === 0 ? 0 : 1], token, `race-${place}`, "once"),
    );
    const codes = (await Promise.all(race)).map(codeOf);
    expect(codes.filter((code) => code === "succeeded")).toHaveLength(1);
    expect(effectsOf(folder, "once")).toBe(1);
  });

  test("an approval and a denial at once: one wins, and both are told", async () => {
    for (let round = 0; round < 10; round += 1) {
      const line = `both-${round}`;
      const asked = await appendResult(hosts[0], token, line, line);
      const [approved, denied] = await Promise.all([
        answer(hosts[0], "acme", asked, "approve"),
        answer(hosts[1], "acme", asked, "deny"),
      ]);
      expect([approved.status, denied.status].toSorted()).toEqual([200, 409]);
      expect((approved.status === 409 ? approved : denied).text).toMatch(/was (approved|denied) .* by/);
      const code = codeOf(await appendResult(hosts[round % 2 === 0 ? 0 : 1], token, `${line}-after`, line));
      expect(code).toBe(approved.status === 200 ? "succeeded" : "approval_denied");
    }
  });
});
