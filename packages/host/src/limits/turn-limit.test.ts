import { expect, test } from "vitest";
import { countingApi, turn } from "../../../../tests/support/host/counting-api.ts";
import { context } from "../../../../tests/support/host/world.ts";
import { limitTurns } from "./turn-limit.ts";

/** Turns that run until they are let go. */
function waitingTurns(): {
  api: ReturnType<typeof countingApi>["api"];
  effects: string[];
  finish(error?: Error): void;
} {
  const waiting: { resolve(): void; reject(error: Error): void }[] = [];
  const counting = countingApi(() => new Promise((resolve, reject) => void waiting.push({ resolve, reject })));
  return {
    ...counting,
    finish(error) {
      const first = waiting.shift();
      if (error === undefined) first?.resolve();
      else first?.reject(error);
    },
  };
}

const overloaded = {
  status: 503,
  code: "overloaded",
  message: "The host runs as many turns as it can.",
  headers: { "retry-after": "1" },
};

test("as many turns run as may, and one more is told to come back", async () => {
  const { api, effects, finish } = waitingTurns();
  const limited = limitTurns(api, 2);
  const running = [limited.executeTurn(context(), turn), limited.executeTurn(context(), turn)];
  await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject(overloaded);
  expect(effects).toHaveLength(2);
  finish();
  finish();
  await Promise.all(running);
});

for (const row of [
  { name: "succeeded", error: undefined },
  { name: "failed", error: new Error("broken") },
]) {
  test(`a turn that ${row.name} makes room for one more`, async () => {
    const { api, finish } = waitingTurns();
    const limited = limitTurns(api, 1);
    const first = limited.executeTurn(context(), turn);
    finish(row.error);
    await first.catch(() => {});
    const second = limited.executeTurn(context(), turn);
    await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject(overloaded);
    finish();
    expect((await second).status).toBe("succeeded");
  });
}

test("a refused turn takes no room", async () => {
  const { api, finish } = waitingTurns();
  const limited = limitTurns(api, 1);
  const first = limited.executeTurn(context(), turn);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject(overloaded);
  }
  finish();
  await first;
  const second = limited.executeTurn(context(), turn);
  finish();
  expect((await second).status).toBe("succeeded");
});

test("everything else is not limited", () => {
  const { api } = waitingTurns();
  expect(limitTurns(api, 1).invokeTool).toBe(api.invokeTool);
});
