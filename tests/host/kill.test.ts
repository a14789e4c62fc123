import { describe, expect, test } from "vitest";
import { databaseKinds } from "../../packages/host/test/databases.ts";
import { appendCall, effectsIn, makeEffectTenant, placeFor, startEffectHost } from "../support/effect-host.ts";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { makeCredential, makeGrant } from "../support/host-world.ts";

/** More on demand: `TURNPIKE_KILLS=1000 npx vitest run tests/host/kill.test.ts`. */
const kills = Number(process.env["TURNPIKE_KILLS"] ?? 20);
const share = { sqlite: kills, postgres: Math.max(1, Math.round(kills / 4)) };
const workers = 8;

interface Sent {
  id: string;
  tenant: Tenant;
  answer: Answer | "lost";
}

interface Tenant {
  name: string;
  token: string;
  maxUses: number;
}

for (const kind of databaseKinds) {
  describe(`a host on ${kind} that is killed under load`, () => {
    test(
      `${share[kind]} times loses nothing it acknowledged and does nothing twice`,
      { timeout: 180_000 + share[kind] * 5000 },
      async () => {
        const folder = makeFolder();
        const place = await placeFor(kind);
        let host = await startEffectHost(folder, place);
        const tenants: Tenant[] = [];
        for (const [name, maxUses] of [
          ["bounded", share[kind] * 5],
          ["plenty", 1_000_000],
        ] as const) {
          tenants.push({ name, maxUses, token: await makeEffectTenant(host, { tenant: name, maxUses }) });
        }
        const sent: Sent[] = [];
        const issued: string[] = [];
        for (let kill = 0; kill < share[kind]; kill += 1) {
          const round = `${kind}-${kill}`;
          const load = [...loadOf(host, tenants, round, sent), issue(host, round, issued)];
          // Another moment of the work each time: after so many acknowledged answers.
          const goal = sent.length + 10 + ((kill * 7) % 40);
          await eventually(() => expect(sent.length).toBeGreaterThanOrEqual(goal));
          await host.stop("SIGKILL");
          await Promise.all(load);
          host = await startEffectHost(folder, place);
        }
        await checkAnswers(host, sent);
        await checkGrants(host, issued);
        checkEffects(effectsIn(folder), sent, tenants);
        await host.stop();
      },
    );
  });
}

/** Calls one after the other in each worker, until the host is gone. */
function loadOf(host: HostProcess, tenants: readonly Tenant[], round: string, sent: Sent[]): Promise<void>[] {
  return Array.from({ length: workers }, async (_, worker) => {
    for (let place = 0; ; place += 1) {
      const tenant = tenants[(worker + place) % tenants.length];
      if (tenant === undefined) return;
      const id = `${round}-${worker}-${place}`;
      const answer = await invoke(host, tenant, id).catch(() => "lost" as const);
      sent.push({ id, tenant, answer });
      if (answer === "lost") return;
    }
  });
}

function invoke({ url }: HostProcess, { name, token }: Tenant, id: string): Promise<Answer> {
  const body = appendCall(id, "t", { line: `${name} ${id}` });
  return ask(url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body });
}

/** Grants, whose ids are kept once they are acknowledged. */
async function issue(host: HostProcess, round: string, issued: string[]): Promise<void> {
  for (let place = 0; ; place += 1) {
    const id = `${round}-${place}`;
    try {
      await makeGrant(host, { id, tenant: "issued", resource: `shelf/${id}`, actions: ["read"] });
    } catch {
      return;
    }
    issued.push(id);
  }
}

/**
 * What ran and was answered is answered again, word for word; what was denied is decided anew; what was cut off ran to an
 * end that is known, or is interrupted.
 */
async function checkAnswers(host: HostProcess, sent: readonly Sent[]): Promise<void> {
  const effects = new Set(effectsIn(host.folder));
  const wrong: unknown[] = [];
  const check = async (each: Sent): Promise<void> => {
    const again = await invoke(host, each.tenant, each.id);
    const hadEffect = effects.has(`${each.tenant.name} ${each.id}`);
    if (!isRight(each, again, hadEffect)) wrong.push({ ...each, hadEffect, again: again.text });
  };
  for (let done = 0; done < sent.length; done += workers) {
    await Promise.all(sent.slice(done, done + workers).map(check));
  }
  expect(wrong).toEqual([]);
}

function isRight(each: Sent, again: Answer, hadEffect: boolean): boolean {
  const { answer } = each;
  const isReplay = again.headers.get("idempotency-replayed") === "true";
  if (outcomeOf(each) === "denied") return !hadEffect && !isReplay && outcomeOf({ answer: again }) === "denied";
  if (answer !== "lost") return answer.status === 200 && isReplay && again.text === answer.text;
  const { error, status } = again.body as { status?: string; error?: { code: string } };
  if (again.status === 409) return error?.code === "replay_interrupted";
  // Either its result was kept, or it never arrived and ran just now.
  return again.status === 200 && (!hadEffect || (isReplay && status === "succeeded"));
}

async function checkGrants(host: HostProcess, issued: readonly string[]): Promise<void> {
  expect(issued.length).toBeGreaterThan(0);
  const { token } = await makeCredential(host, { tenant: "issued" });
  const { body } = await ask(host.url, "/v1/reach", { token });
  const { reach } = body as { reach: { path: string[] }[] };
  const kept = new Set(reach.map(({ path }) => path[0]));
  expect(issued.filter((id) => !kept.has(id))).toEqual([]);
}

function checkEffects(effects: readonly string[], sent: readonly Sent[], tenants: readonly Tenant[]): void {
  const happened = new Set(effects);
  expect(effects.length - happened.size).toBe(0);
  const overused = tenants.filter(({ name, maxUses }) => countOf(effects, name) > maxUses);
  expect(overused).toEqual([]);

  const answered = sent.filter(({ answer }) => answer !== "lost");
  const untrue = answered.filter(
    (each) => happened.has(`${each.tenant.name} ${each.id}`) !== (outcomeOf(each) === "succeeded"),
  );
  expect(untrue).toEqual([]);
  // The load met all of them.
  expect(new Set(sent.map(outcomeOf))).toEqual(new Set(["succeeded", "denied", "lost"]));
}

function countOf(effects: readonly string[], tenant: string): number {
  return effects.filter((line) => line.startsWith(`${tenant} `)).length;
}

function outcomeOf({ answer }: Pick<Sent, "answer">): string {
  return answer === "lost" ? answer : (answer.body as { status: string }).status;
}
