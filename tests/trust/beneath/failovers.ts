import { expect } from "vitest";
import { ask, eventually } from "../../../packages/host/test/host-calls.ts";
import { startOwnPostgres } from "../../../packages/host/test/postgres-server.ts";
import { createRandom } from "../../../packages/turnpike/test/random.ts";
import { brokenAuditLogs, wrongEffects } from "../../support/load-check.ts";
import { LoadedHosts, outcomeOf, type Sent } from "../../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "../suite.ts";

/** So many of the calls that are lost are sent again, to each host. */
const askedAgain = 10;
const succeeded = (outcome: string): boolean => outcome === "succeeded";

/** Works for a while, and returns what was acknowledged meanwhile. */
async function work(loaded: LoadedHosts, count: number): Promise<Sent[]> {
  const { sent } = loaded.record;
  const from = sent.length;
  loaded.startLoad();
  await loaded.answers(count, succeeded);
  await loaded.stopLoad();
  return sent.slice(from).filter((each) => succeeded(outcomeOf(each)));
}

/** Each host refuses each of these calls, because its database went back. */
async function refusedBy(loaded: LoadedHosts, lost: readonly Sent[]): Promise<string[]> {
  const problems: string[] = [];
  for (const { tenant, id } of lost)
    for (const place of [0, 1]) {
      const outcome = await eventually(async () => {
        const answer = await loaded.invoke(loaded.hostAt(place), tenant, id);
        // Until it has found the other server it has none.
        expect(outcomeOf({ answer })).not.toMatch(/unavailable$/);
        return outcomeOf({ answer });
      }).catch((error: unknown) => String(error));
      if (outcome !== "database_went_back") problems.push(`${id} was lost, and is ${outcome} when it is sent again`);
    }
  return problems;
}

async function runWorld({ seed, bug }: Trial): Promise<WorldOutcome> {
  const random = createRandom(seed);
  const server = await startOwnPostgres();
  const loaded = await LoadedHosts.start(2, { database: server.location }, 1_000_000, bug);
  await work(loaded, 10 + random.below(20));
  const problems = await loaded.check();
  await server.order("save");
  // Each host has acknowledged something that is lost.
  const lost = await work(loaded, 20 + random.below(20));
  await server.order("go back");
  problems.push(...(await refusedBy(loaded, lost.slice(-askedAgain))), ...wrongEffects(loaded));
  if (problems.length === 0) {
    const { url, operatorToken } = loaded.host;
    const body = { revokeCredentials: false };
    const accepted = await ask(url, "/admin/v1/database/accept-loss", { token: operatorToken(), body });
    if (accepted.status !== 200) problems.push(`the loss was not accepted: ${accepted.text}`);
    await work(loaded, 10).catch((error: unknown) => problems.push(`after the loss was accepted: ${String(error)}`));
    problems.push(...(await brokenAuditLogs(loaded)));
  }
  await loaded.stop();
  await server.stop();
  return { counts: { failovers: 1, "acknowledged and lost": lost.length }, problems };
}

/** A PostgreSQL that goes back to what it had. */
export const failovers: Suite = {
  name: "failovers",
  says:
    "A standby that lags takes the place of a PostgreSQL: what two hosts had acknowledged is lost. Neither does any of it again before " +
    "an operator accepts the loss, and both serve afterwards.",
  share: 1,
  run: (trial) => runWorlds("failovers", trial, runWorld),
};
