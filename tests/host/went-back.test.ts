import { expect, onTestFinished, test } from "vitest";
import { startOwnPostgres } from "../../packages/host/test/postgres-server.ts";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import { appendCall, effectsIn, makeEffectTenant, startEffectHost } from "../support/effect-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { turn } from "../support/host-world.ts";
import { command, commandJson, words } from "../support/terminal.ts";

const reason =
  "The database went back: it lost rows that were acknowledged. Calls and turns are refused until an operator accepts that.";

async function start(database: string): Promise<HostProcess> {
  const host = await startEffectHost(makeFolder(), { database });
  onTestFinished(() => void host.stop("SIGKILL"));
  return host;
}

const headers = { "x-trace-id": "t" };
const invoke = ({ url }: HostProcess, token: string, id: string): Promise<Answer> =>
  ask(url, "/v1/tools/invoke", { token, headers, body: appendCall(id, "t") });
const codeOf = ({ status, body }: Answer): unknown[] => [status, (body as { error?: { code: string } }).error?.code];

test("hosts whose PostgreSQL went back acknowledge nothing on it until an operator accepts what is lost", async () => {
  const server = await startOwnPostgres();
  onTestFinished(() => server.stop());
  const hosts = await Promise.all([start(server.location), start(server.location)]);
  const [here, there] = hosts;
  const token = await makeEffectTenant(here);
  expect((await invoke(here, token, "before")).status).toBe(200);
  await server.order("save");
  await eventually(async () => {
    for (const { url } of hosts) expect((await ask(url, "/ready")).status).toBe(200);
  });

  const lost = ["lost-1", "lost-2", "lost-3"];
  for (const id of lost) await eventually(async () => expect((await invoke(here, token, id)).status).toBe(200));
  await server.order("go back");

  // Each is sent from the first instant on: at no time may one be done again.
  for (const host of hosts)
    await eventually(async () => {
      const answer = await invoke(host, token, "lost-1");
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expect(codeOf(answer)).toEqual([503, "database_went_back"]);
    });
  for (const host of hosts) {
    const body = turn("turn-1", "t", {});
    expect(codeOf(await ask(host.url, "/v1/turns", { token, headers, body }))).toEqual([503, "database_went_back"]);
    const ready = await ask(host.url, "/ready");
    expect([ready.status, ready.body]).toEqual([503, { status: "unavailable", reason }]);
  }
  const verify = () => command(here, words`audit verify --tenant acme`);
  expect((await verify()).stderr).toMatch(
    /^The audit log of acme is broken: row \d+ (of strand \d+ )?was removed: checkpoint/,
  );

  const accepted = await command(here, words`database accept-loss`);
  expect([accepted.code, accepted.stderr]).toEqual([0, ""]);
  expect(accepted.stdout).toMatch(/^Accepted: at least \d+ rows of 1 audit log are lost, as noticed \S+Z\.\n/);
  for (const host of hosts) {
    await eventually(async () => expect((await ask(host.url, "/ready")).status).toBe(200));
    expect((await invoke(host, token, `behind on ${hosts.indexOf(host)}`)).status).toBe(200);
  }
  expect((await verify()).stdout).toMatch(
    /^The audit log of acme is whole: [^]*\nThe database lost rows \d+ to \d+ of strand \d: noticed \S+Z, as checkpoint \d+ says, and accepted \S+Z\.\n/,
  );
  expect(await verifiedBy(there)).toMatchObject({ isWhole: true });
  const { events } = (await commandJson(here, words`audit list --tenant operators`)) as {
    events: { event: { action?: string; outcome: string } }[];
  };
  const said = events.filter(({ event }) => event.outcome === "succeeded").map(({ event }) => event.action);
  expect(said).toEqual(expect.arrayContaining(["database.went_back", "database.loss_accepted"]));
  // Their ids are unknown by now, which is what the operator accepted.
  expect(effectsIn(here.folder).filter((line) => lost.includes(line))).toEqual(lost);

  await here.stop();
  const again = await startEffectHost(here.folder, { database: server.location });
  onTestFinished(() => void again.stop("SIGKILL"));
  expect((await ask(again.url, "/ready")).status).toBe(200);
  const { isWhole, gaps } = (await verifiedBy(again)) as { isWhole: boolean; gaps: { acceptedAt?: string }[] };
  expect([isWhole, gaps.length > 0, gaps.every(({ acceptedAt }) => acceptedAt !== undefined)]).toEqual([
    true,
    true,
    true,
  ]);
});

async function verifiedBy(host: HostProcess): Promise<unknown> {
  return commandJson(host, words`audit verify --tenant acme`);
}
