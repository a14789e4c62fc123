import { expect, test } from "vitest";
import type { TurnExecutionPort } from "turnpike/runtime";
import { turn } from "../../test/counting-api.ts";
import { context } from "../../test/records.ts";
import { verifySenders } from "./verify-senders.ts";

/** Who ran a turn whose message the inbox holds, or not. */
async function runnerOf(holds: () => Promise<boolean>): Promise<{ runner: string; errors: unknown[] }> {
  const errors: unknown[] = [];
  const runs = (runner: string): TurnExecutionPort => ({ execute: () => Promise.reject(new Error(runner)) });
  const turns = verifySenders(
    { holds: (tenant, { id }) => (tenant === "tenant-1" && id === "id-1" ? holds() : Promise.resolve(false)) },
    { claimed: runs("claimed"), verified: runs("verified"), onError: (error) => void errors.push(error) },
  );
  const runner = await turns.execute({ ...turn, context: context() }).catch((error: Error) => error.message);
  return { runner: String(runner), errors };
}

test("a turn whose message lies in the agent's inbox is run as one of a verified sender", async () => {
  expect(await runnerOf(() => Promise.resolve(true))).toEqual({ runner: "verified", errors: [] });
});

test("any other turn is run as one whose sender is the caller's word", async () => {
  expect(await runnerOf(() => Promise.resolve(false))).toEqual({ runner: "claimed", errors: [] });
});

test("an inbox that cannot be read verifies no sender, and that is told", async () => {
  const outage = new Error("The store does not answer.");
  expect(await runnerOf(() => Promise.reject(outage))).toEqual({ runner: "claimed", errors: [outage] });
});
