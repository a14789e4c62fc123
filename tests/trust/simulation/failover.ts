import { askedBy, runClient, type Asked, type Ledger } from "./clients.ts";
import { checkAuditLog, settleTurns } from "./final-checks.ts";
import type { SimulatedHost } from "./host.ts";
import { tenantsOf } from "./model.ts";
import type { Episode } from "./plan.ts";
import { agentOf } from "./population.ts";
import { noProcess } from "./scheduler.ts";
import type { World } from "./world.ts";

/** The ids of the calls that are made at each host, which no client has. */
const firstId = 1000;

/** So long it takes at most until a host has found another server. */
const findsMs = 10_000;

/**
 * A standby that lags takes the place of the storage while clients ask for things. Nothing that was not decided before may happen until an
 * operator accepts that, whatever is asked of which host; then all hosts serve again.
 */
export async function runFailover(world: World, episode: Episode): Promise<void> {
  const { scheduler, random, storage, model } = world;
  const tenant = tenantsOf(episode.number)[0];
  const ledger: Ledger = new Map();
  await world.complete("starting again", () => world.reopenAll());
  storage.lag();
  await world.complete("what is lost", async () => {
    const wanted = Promise.all(episode.clients.map((client) => runClient(world, client, ledger)));
    // Each host has acknowledged something that is lost.
    for (const [place, host] of world.hosts.entries()) await callAt(world, host, tenant, firstId + place, "succeeded");
    await scheduler.wait(1 + random.below(100));
    world.failOver();
    await wanted;
  });
  if (model.violations.length > 0) return;
  await world.complete("what is lost is asked for again", async () => {
    for (const asked of ledger.values()) for (const host of world.hosts) await askLost(world, host, asked);
    for (const [place, host] of world.hosts.entries())
      await callAt(world, host, tenant, firstId + place, "database_went_back");
    const [host] = world.hosts;
    await host?.stores.losses.accept(new Date().toISOString(), false);
    await scheduler.pause("accepted", noProcess);
    model.lossAccepted();
  });
  if (model.violations.length > 0) return;
  const used = [...new Set([tenant, ...episode.clients.map((client) => client.tenant)])];
  await world.complete("after the loss", async () => {
    await settleTurns(world, used);
    for (const [place, host] of world.hosts.entries())
      await callAt(world, host, tenant, 2 * firstId + place, "succeeded");
    for (const each of used) await checkAuditLog(world, each);
  });
}

/** Makes a call at one host, which has to come out so. */
async function callAt(world: World, host: SimulatedHost, tenant: string, id: number, outcome: string): Promise<void> {
  const asked = askedBy(tenant, { kind: "tool", id, call: { tool: "effects.add", item: "free", tag: "own" } }, 0);
  world.model.sent(asked.key);
  const came = await outcomeAt(world, host, asked);
  // A tool may fail when it has had its effect.
  const isAsPlanned = came === outcome || (outcome === "succeeded" && came === "tool_execution_failed");
  if (!isAsPlanned) world.model.violated(`${asked.key} is ${came} where it should be ${outcome}`);
}

/** Asks again for what was acknowledged. That it does not happen again is held against its effects. */
async function askLost(world: World, host: SimulatedHost, asked: Asked): Promise<void> {
  const { kind } = asked.action;
  if (asked.done.length === 0 || kind === "list" || kind === "cancel" || kind === "authorize") return;
  const came = await outcomeAt(world, host, asked);
  world.model.count("lost and asked again");
  if (came !== "database_went_back") world.model.violated(`${asked.key} is ${came} on a storage that went back`);
}

/** How a request ends at a host, or why it does not, once the host has found the server that is there now. */
async function outcomeAt({ scheduler, population }: World, host: SimulatedHost, asked: Asked): Promise<string> {
  const token = agentOf(population, asked.tenant).staying;
  for (const end = scheduler.now + findsMs; ;) {
    const { status, body } = await host.send({ ...asked.call, token });
    const outcome = String(body?.error?.code ?? body?.status ?? status);
    if (!outcome.endsWith("unavailable") || scheduler.now >= end) return outcome;
    await scheduler.wait(100);
  }
}
