import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import { effectsIn } from "./effect-host.ts";
import type { HostProcess } from "./host-process.ts";
import { makeCredential } from "./host-world.ts";
import { outcomeOf, type LoadedHosts, type Sent } from "./loaded-hosts.ts";

const atOnce = 8;

/** What does not hold of everything that was asked and acknowledged. */
export async function problemsIn(loaded: LoadedHosts): Promise<string[]> {
  return [
    ...(await wrongAnswers(loaded)),
    ...(await lostGrants(loaded)),
    ...(await livingRevoked(loaded)),
    ...wrongEffects(loaded),
    ...(await brokenAuditLogs(loaded)),
  ];
}

async function forEach<T>(items: readonly T[], work: (item: T, place: number) => Promise<void>): Promise<void> {
  const rest = items.entries();
  const go = async (): Promise<void> => {
    for (const [place, item] of rest) await work(item, place);
  };
  await Promise.all(Array.from({ length: atOnce }, go));
}

/**
 * What ran and was answered is answered again, word for word; what did not run left nothing; what was cut off ran to an end
 * that is known, or is interrupted.
 */
async function wrongAnswers(loaded: LoadedHosts): Promise<string[]> {
  const effects = new Set(effectsIn(loaded.folder));
  const wrong: string[] = [];
  await forEach(loaded.record.sent, async (each, place) => {
    const host = loaded.hostAt(place);
    const again = await eventually(async () => {
      const answer = await loaded.invoke(host, each.tenant, each.id);
      // Another host may wait briefly, to see whether the one that had it lives.
      if (outcomeOf({ answer }) === "replay_pending") throw new Error(`${each.id} is pending.`);
      return answer;
    }).catch((error: unknown) => String(error));
    const hadEffect = effects.has(`${each.tenant.name} ${each.id}`);
    const isUnstored = loaded.record.unstored.has(each);
    if (typeof again !== "string" && isRight({ ...each, isUnstored }, again, hadEffect)) return;
    const said = typeof again === "string" ? again : `${again.status} ${again.text}`;
    wrong.push(
      `${each.tenant.name} ${each.id} was answered ${textOf(each.answer)}, ${hadEffect ? "with" : "without"} an effect, and then ${said}`,
    );
  });
  return wrong;
}

function textOf(answer: Sent["answer"]): string {
  return typeof answer === "string" ? answer : `${answer.status} ${answer.text}`;
}

function isRight(each: Sent & { isUnstored: boolean }, again: Answer, hadEffect: boolean): boolean {
  const { answer } = each;
  const isReplay = again.headers.get("idempotency-replayed") === "true";
  const [outcome, now] = [outcomeOf(each), outcomeOf({ answer: again })];
  if (outcome === "late") return false;
  if (outcome === "grant_exhausted") return !hadEffect && !isReplay && now === outcome;
  const isSame = isReplay && again.text === (answer as Answer).text;
  if (outcome === "succeeded") return hadEffect && (isSame || (each.isUnstored && now === "replay_interrupted"));
  // A host that could not store a result tells none, and may store it later.
  const isCutOff = outcome === "lost" || outcome === "replay_interrupted";
  if (now === "replay_interrupted") return isCutOff || !hadEffect;
  // Its result was stored, or it never ran before now. Only of what was cut off may there be an effect.
  return hadEffect ? isCutOff && isReplay && now === "succeeded" : !isReplay || now === "succeeded" || isSame;
}

async function lostGrants({ host, record }: LoadedHosts): Promise<string[]> {
  const { token } = await makeCredential(host, { tenant: "issued" });
  const { body } = await ask(host.url, "/v1/reach", { token });
  const stored = new Set((body as { reach: { path: string[] }[] }).reach.map(({ path }) => path[0]));
  return record.issued.filter((id) => !stored.has(id)).map((id) => `the grant ${id} was issued, and is lost`);
}

async function livingRevoked(loaded: LoadedHosts): Promise<string[]> {
  const before = loaded.record.wrong.length;
  await forEach(loaded.record.revoked, (revoked, place) =>
    loaded.tryRevoked(loaded.hostAt(place), revoked, `${revoked.tenant.name}-at-the-end`),
  );
  return loaded.record.wrong.splice(before);
}

export function wrongEffects({ folder, tenants, record }: LoadedHosts): string[] {
  const effects = effectsIn(folder);
  const seen = new Set<string>();
  const twice = effects.filter((line) => seen.has(line) || !seen.add(line));
  const overused = tenants.filter(({ name, maxUses }) => countOf(effects, name) > maxUses);
  const silent = record.sent.filter(
    (each) => outcomeOf(each) === "succeeded" && !seen.has(`${each.tenant.name} ${each.id}`),
  );
  return [
    ...twice.map((line) => `${line} happened twice`),
    ...overused.map(({ name, maxUses }) => `${name} was used more than ${maxUses} times`),
    ...silent.map(({ id }) => `${id} succeeded, and nothing happened`),
  ];
}

function countOf(effects: readonly string[], tenant: string): number {
  return effects.filter((line) => line.startsWith(`${tenant} `)).length;
}

export async function brokenAuditLogs({ host, tenants }: LoadedHosts): Promise<string[]> {
  const names = [...tenants.map(({ name }) => name), "issued"];
  const verdicts = await Promise.all(names.map(async (name) => ({ name, broken: await breakIn(host, name) })));
  return verdicts.flatMap(({ name, broken }) =>
    broken === undefined ? [] : `the audit log of ${name} is broken: ${broken}`,
  );
}

/** What is wrong with an audit log, which is verified part by part. */
async function breakIn(host: HostProcess, namespaceId: string): Promise<string | undefined> {
  const token = host.operatorToken();
  for (let cursor: string | undefined; ;) {
    const query = new URLSearchParams({ namespaceId, ...(cursor !== undefined && { cursor }) });
    const { status, text, body } = await ask(host.url, `/admin/v1/audit/verify?${query.toString()}`, { token });
    const verdict = body as { isWhole: boolean; broken?: unknown; cursor?: string };
    if (status !== 200 || verdict.broken !== undefined) return text;
    if (verdict.cursor === undefined) return verdict.isWhole ? undefined : text;
    ({ cursor } = verdict);
  }
}
