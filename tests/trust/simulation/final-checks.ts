import { hash } from "node:crypto";
import { ask, askedBy, type Asked, type Ledger } from "./clients.ts";
import type { Answer } from "./host.ts";
import { anyTenant, items, tenantsOf, type Item } from "./model.ts";
import { answerOne } from "./operators.ts";
import { agentOf } from "./population.ts";
import type { Episode } from "./plan.ts";
import { noProcess } from "./scheduler.ts";
import type { World } from "./world.ts";

/** So long it takes at most until another host resumes the turns of a host that is gone. */
const takeoverMs = 20_000;

/** So long it takes at most until a result is stored that could not be at first, or another host says that it is unknown. */
const storingMs = 15_000;

/** Lets everything come to its end without faults, and holds what is there against what was promised. */
export async function finish(world: World, episode: Episode, ledger: Ledger): Promise<void> {
  const used = new Set([...episode.clients, ...episode.operators].map(({ tenant }) => tenant));
  const tenants = tenantsOf(episode.number).filter((tenant) => used.has(tenant));
  await world.complete("starting again", () => world.reopenAll());
  await world.complete("the turns", async () => {
    await settleTurns(world, tenants);
    for (const tenant of tenants)
      while (isAsked(world, tenant) && (await answerOne(world, tenant, world.random.chance(0.5))));
    await settleTurns(world, tenants);
  });
  await world.complete("acts that were approved", () => rush(world, ledger));
  const { violations } = world.model;
  if (violations.length > 0) return;
  await world.complete("asking again", async () => {
    for (const asked of ledger.values()) if (violations.length === 0) await askAgain(world, asked);
    for (const tenant of tenants) if (violations.length === 0) await checkAuthority(world, tenant);
    for (const tenant of tenants) if (violations.length === 0) await checkAuditLog(world, tenant);
  });
  for (const tenant of tenants) checkRows(world, tenant, ledger);
}

/** Asks twice at once, under ids of their own, for each act that needs a person's approval: one approval is for one of them. */
async function rush(world: World, ledger: Ledger): Promise<void> {
  for (const { action, tenant } of ledger.values()) {
    if (action.kind !== "tool" || action.call.item !== "asked") continue;
    const again = [100, 200].map((id) => askedBy(tenant, { ...action, id: id + action.id }, 0));
    await Promise.all(again.map((asked) => ask(world, asked, 1)));
  }
}

/** Whether an escalation of a tenant is open. */
function isAsked({ storage }: World, tenant: string): boolean {
  const open = "select 1 from escalations where namespace_id = ? and status = 'pending' limit 1";
  return storage.rows(open, tenant).length > 0;
}

/** Waits until no turn runs any more. */
export async function settleTurns({ scheduler, storage, model }: World, tenants: readonly string[]): Promise<void> {
  const end = scheduler.now + takeoverMs;
  const running = () =>
    storage.rows<{ execution_id: string; namespace_id: string }>(
      "select execution_id, namespace_id from turns where status = 'running' and namespace_id in (?, ?)",
      tenants[0] ?? "",
      tenants[1] ?? "",
    );
  while (running().length > 0 && scheduler.now < end) await scheduler.wait(250);
  for (const { namespace_id, execution_id } of running())
    model.violated(`${execution_id} of ${namespace_id} neither ends nor waits`);
}

/** Whatever was acknowledged is answered the same again, and nothing happens; whatever was not has an answer by now. */
async function askAgain(world: World, asked: Asked): Promise<void> {
  const { model, scheduler } = world;
  const { action, done, key, tenant } = asked;
  if (action.kind === "list" || action.kind === "cancel" || action.kind === "authorize") return;
  const [before, wasDone] = [model.effectsOf(key), done.length > 0];
  const token = agentOf(world.population, tenant).staying;
  const again = () => (wasDone ? world.send(tenant, { ...asked.call, token }) : ask(world, asked, 3));
  const codeOf = (answer: Answer | undefined) => answer?.body?.error?.code as string | undefined;
  let answer = await again();
  // What a host did that is gone is told once it is held for dead, and a result that could not be stored at once when it is.
  const isOpen = () => answer === undefined || codeOf(answer) === "replay_pending";
  for (const end = scheduler.now + storingMs; isOpen() && scheduler.now < end;) {
    await scheduler.wait(250);
    answer = await again();
  }
  const code = codeOf(answer);
  if (answer === undefined || answer.status === 503 || code === "replay_pending") {
    model.violated(`${key} has no answer when all is well: ${answer?.text.slice(0, 200)}`);
    return;
  }
  if (!wasDone) return;
  model.count("asked again");
  if (model.effectsOf(key) !== before)
    model.violated(`${key} was acknowledged, and happened when it was asked for again`);
  if (action.kind === "turn") return checkTurn(world, asked, answer);
  if (code === "replay_interrupted" && world.mayBeLost(idOf(asked))) return model.count("lost with their process");
  const isReplayed = answer.headers["idempotency-replayed"] === "true";
  const isSame = done.every(({ text }) => text === answer.text);
  if (!isReplayed || !isSame)
    model.violated(
      `${key} was acknowledged: ${done[0]?.text.slice(0, 200)}; and is now ${answer.status} ${answer.text.slice(0, 200)}`,
    );
}

/** The id by which its sender knows a request. */
function idOf({ call }: Asked): string {
  const { id, operationId } = call.body as { id?: string; operationId?: string };
  return id ?? operationId ?? "";
}

/** A turn that a caller was told of is there, has ended or waits, ended as it was told, and has all its events in order. */
async function checkTurn(world: World, { key, done, tenant, call }: Asked, again: Answer): Promise<void> {
  const { model, population } = world;
  const { executionId } = call.body as { executionId: string };
  const token = agentOf(population, tenant).staying;
  const headers = { "x-purpose": "work" };
  const get = (path: string) =>
    world.send(tenant, { method: "GET", path: `/v1/turns/${executionId}${path}`, token, headers });
  const [state, events] = [await get(""), await get("/events")];
  if (state?.status !== 200 || events?.status !== 200)
    return model.violated(`${key} was acknowledged, and is not found: ${state?.status} ${again.text.slice(0, 200)}`);
  const result = state.body.result;
  if (result === undefined && state.body.status !== "waiting") model.violated(`${key} is ${state.body.status}`);
  for (const { body } of done) {
    // What was told is a result, or a state with one in it once the turn had ended.
    const told = body.startedAt !== undefined && body.steps === undefined ? body : body.result;
    // One that could not be stored in the audit log says so, and is no result that is stored either. What was denied leaves its id free.
    const isUnstored = told?.error?.code === "audit_unavailable";
    if (isUnstored && told.error.retryable !== false)
      model.violated(`${key} says that it can be tried again, and has ended ${summaryOf(result)}`);
    if (isUnstored || told?.status === "denied") continue;
    if (result?.error?.code === "turn_interrupted" && world.mayBeLost(executionId)) continue;
    if (told !== undefined && JSON.stringify(told) !== JSON.stringify(result))
      model.violated(`${key} ended ${summaryOf(told)}, and now has ended ${summaryOf(result)}`);
  }
  const sequences = (events.body.events as { sequence: number }[]).map(({ sequence }) => sequence);
  if (sequences.some((sequence, place) => sequence !== place))
    model.violated(`${key} has the events ${sequences.join()}`);
}

// oxlint-disable-next-line typescript/no-explicit-any -- whatever the wire says
function summaryOf({ events, ...rest }: any): string {
  return `${JSON.stringify(rest)} after ${(events as { type: string }[]).map(({ type }) => type).join()}`;
}

/** What was revoked stays revoked, on every host. */
async function checkAuthority(world: World, tenant: string): Promise<void> {
  const { model, random } = world;
  for (const item of Object.keys(items) as Item[]) {
    if (!model.isRevoked(tenant, `grant-${item}`)) continue;
    for (const host of world.hosts) {
      const traceId = `last-${random.below(1_000_000)}`;
      const headers = { "x-trace-id": traceId, "x-purpose": "work" };
      const body = { action: "have", resource: { namespace: "effects", path: [item] } };
      const token = agentOf(world.population, tenant).staying;
      const answer = await host.send({ method: "POST", path: "/v1/authorize", token, headers, body });
      if (answer.body?.allowed !== false)
        model.violated(`${item} of ${tenant} is revoked, and answered ${answer.text}`);
    }
  }
}

/** The audit log verifies, by the host and by a few lines that know nothing of it. */
export async function checkAuditLog(
  { hosts, storage, model, random, scheduler }: World,
  tenant: string,
): Promise<void> {
  const rows = storage.rows<{ strand: number; sequence: number; content: string; hash: string }>(
    "select strand, sequence, content, hash from audit where namespace_id = ? order by strand, sequence",
    tenant,
  );
  const heads = new Map<number, { sequence: number; hash: string }>();
  for (const { strand, sequence, content, hash: link } of rows) {
    const last = heads.get(strand) ?? { sequence: 0, hash: "0".repeat(64) };
    const expected = hash("sha256", `${last.hash}\n${sequence}\n${content}`);
    if (sequence !== last.sequence + 1 || link !== expected)
      return model.violated(`the audit log of ${tenant} is broken at ${strand}/${sequence}`);
    heads.set(strand, { sequence, hash: link });
  }
  model.count("audit logs verified");
  // Reading an audit log as the host does takes longer than much of an episode.
  if (random.chance(0.7)) return;
  const verdict = await hosts[0]?.stores.audit.verify(tenant);
  await scheduler.pause("verified", noProcess);
  if (verdict?.broken !== undefined || (verdict?.rows ?? 0) < rows.length)
    model.violated(`the host finds the audit log of ${tenant} broken: ${JSON.stringify(verdict)}`);
}

/** What the tables say of a tenant fits what was acknowledged and what happened. */
function checkRows({ storage, model }: World, tenant: string, ledger: Ledger): void {
  for (const item of Object.keys(items) as Item[]) {
    const { maxUses } = items[item] as { maxUses?: number };
    if (maxUses === undefined) continue;
    const [uses] = storage.rows<{ used: number }>(
      "select used from uses where namespace_id = ? and grant_id = ?",
      tenant,
      `grant-${item}`,
    );
    const [decisions] = storage.rows<{ n: number }>(
      `select count(*) as n from audit where namespace_id = ? and type = 'authorization.checked' and outcome = 'allowed'
        and json_extract(content, '$.grantId') = ? and trace_id not like 'check-%'`,
      tenant,
      `grant-${item}`,
    );
    if ((uses?.used ?? 0) !== decisions?.n)
      model.violated(`${item} of ${tenant} was decided ${decisions?.n} times, and ${uses?.used ?? 0} uses are counted`);
  }
  const [file] = storage.rows<{ content: string }>(
    `select contents.content from files join contents using (namespace_id, owner, digest) where files.namespace_id = ?`,
    tenant,
  );
  const messages = storage.rows<{ id: string }>("select id from messages where namespace_id = ?", tenant);
  for (const { action, done, key, tenant: of } of ledger.values()) {
    if (of !== tenant) continue;
    if (action.kind === "authorize") {
      const traceId = key.slice(tenant.length + 1);
      const [stored] = storage.rows<{ n: number }>(
        "select count(*) as n from audit where namespace_id = ? and trace_id = ? and type = 'authorization.checked'",
        tenant,
        traceId,
      );
      if ((stored?.n ?? 0) < done.length) model.violated(`${key} was answered, and is not in the audit log`);
    }
    if (action.kind === "append") {
      const times = String(file?.content ?? "").split(`<${tenant}-${action.id}>`).length - 1;
      if (times > 1 || (done.length > 0 && times === 0)) model.violated(`${key} is in the file ${times} times`);
    }
    if (action.kind === "message") {
      const times = messages.filter(({ id }) => id === `message-${action.id}`).length;
      if (times > 1 || (done.length > 0 && times === 0)) model.violated(`${key} is in the inbox ${times} times`);
    }
  }
  const events = storage.rows<{ id: string; content: string }>(
    "select id, content from audit where namespace_id = ?",
    tenant,
  );
  if (new Set(events.map(({ id }) => id)).size < events.length)
    model.violated(`an event of ${tenant} is in the audit log twice`);
  const stray = events.find(({ content }) => content.match(anyTenant)?.some((name) => name !== tenant) !== false);
  if (stray !== undefined)
    model.violated(`the audit log of ${tenant} has another tenant's event: ${stray.content.slice(0, 200)}`);
}
