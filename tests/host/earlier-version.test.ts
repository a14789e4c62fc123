import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { earlierVersion, versionWithoutEpochs as commit } from "../support/earlier-version.ts";
import {
  answerAll,
  durableClient,
  followToEnd,
  linesIn,
  makeDurableTenant,
  startDurableHost,
  stepsTurn,
} from "../support/durable-host.ts";
import { appendCall, placeFor, serveArgs, startScript, type HostSettings } from "../support/effect-host.ts";
import { makeFolder, runTurnpike, type HostProcess } from "../support/host-process.ts";

// It takes a while, once in a checkout.
beforeAll(() => void earlierVersion(commit));

function startEarlier(folder: string, settings: HostSettings): Promise<HostProcess> {
  return startScript(join(earlierVersion(commit), "tests/support/durable-host.js"), folder, settings);
}

describe.each([
  {
    kind: "postgres",
    refusal:
      /Hosts run on this database that are too old for this version, and that cannot be told to leave: host 1 \(started \S+Z\)\. Stop them, and start this one again\. Nothing was changed\./,
  },
  { kind: "sqlite", refusal: /is in use by another process/ },
] as const)("a host of a version that knows no epochs, on $kind,", ({ kind, refusal }) => {
  test("is left alone while it runs, and what it leaves is the new version's", async () => {
    const folder = makeFolder();
    const settings = await placeFor(kind);
    const earlier = await startEarlier(folder, settings);
    onTestFinished(() => void earlier.stop("SIGKILL"));
    const { token } = await makeDurableTenant(earlier);
    const invoke = ({ url }: HostProcess, id: string) =>
      ask(url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body: appendCall(id, "t") });
    const first = await invoke(earlier, "call");
    expect(first.body).toMatchObject({ status: "succeeded" });
    const client = durableClient(token, () => earlier.url);
    await client.startTurn(stepsTurn("asking", 3, 1));
    await eventually(async () => expect((await client.turn("asking")).status).toBe("waiting"));
    const steps = 200;
    await client.startTurn(stepsTurn("running", steps));

    const refused = await runTurnpike({ folder, args: serveArgs(settings) });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(refusal)]);
    expect((await invoke(earlier, "beside")).body).toMatchObject({ status: "succeeded" });
    expect(await earlier.stop()).toEqual({ code: 0, signal: null });

    const host = await startDurableHost(folder, settings);
    onTestFinished(() => void host.stop("SIGKILL"));
    const again = await invoke(host, "call");
    expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([first.text, "true"]);
    expect(await answerAll(host, "acme", "deny")).toBe(1);
    const after = durableClient(token, () => host.url);
    for (const [id, count] of [
      ["asking", 3],
      ["running", steps],
    ] as const) {
      expect((await followToEnd(after, id)).at(-1)?.type).toBe("turn.completed");
      const effects = linesIn(folder, "effects.log").filter((line) => line.startsWith(`${id} `));
      expect(effects).toEqual(Array.from({ length: count }, (_, step) => `${id} ${step}`));
    }
    expect(linesIn(folder, "effects.log").filter((line) => !line.includes(" "))).toEqual(["call", "beside"]);

    if (kind === "sqlite") await host.stop();
    await expect(startEarlier(folder, settings)).rejects.toThrow(
      /This database was migrated by a newer version of Turnpike: it has "\d{4}-[a-z-]+", which this version does not know/,
    );
  });
});
