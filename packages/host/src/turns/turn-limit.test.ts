import { expect, test } from "vitest";
import { countingApi, turn } from "../../test/counting-api.ts";
import { context } from "../../test/records.ts";
import { limitTurns } from "./turn-limit.ts";
import { localTurnSlots, type TurnOwner } from "./turn-slots.ts";

const unknownCredential = { credentialOf: () => undefined, onError: () => {} };

/** Turns that run until they are let go, so many at once. */
function waitingTurns(places: number) {
  const waiting: { resolve(): void; reject(error: Error): void }[] = [];
  const { api, effects } = countingApi(() => new Promise((resolve, reject) => void waiting.push({ resolve, reject })));
  const slots = localTurnSlots({ all: places, tenant: places, credential: places });
  const errors: unknown[] = [];
  return {
    api,
    effects,
    limited: limitTurns(api, { ...unknownCredential, slots, onError: (error) => void errors.push(error) }),
    async finish(error?: Error) {
      await expect.poll(() => waiting.length).toBeGreaterThan(0);
      const first = waiting.shift();
      if (error === undefined) first?.resolve();
      else first?.reject(error);
    },
  };
}

const overloaded = { status: 503, code: "overloaded", headers: { "retry-after": "1" } };

test("as many turns run as may, and one more is told to come back", async () => {
  const { limited, effects, finish } = waitingTurns(2);
  const running = [limited.executeTurn(context(), turn), limited.executeTurn(context(), turn)];
  const message = "The host runs as many turns as it can.";
  await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject({ ...overloaded, message });
  expect(effects).toHaveLength(2);
  await finish();
  await finish();
  await Promise.all(running);
});

for (const row of [
  { name: "succeeded", error: undefined },
  { name: "failed", error: new Error("broken") },
]) {
  test(`a turn that ${row.name} makes room for one more`, async () => {
    const { limited, finish } = waitingTurns(1);
    const first = limited.executeTurn(context(), turn).catch(() => {});
    await finish(row.error);
    await first;
    const second = limited.executeTurn(context(), turn);
    await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject(overloaded);
    await finish();
    expect((await second).status).toBe("succeeded");
  });
}

test("a refused turn takes no room", async () => {
  const { limited, finish } = waitingTurns(1);
  const first = limited.executeTurn(context(), turn);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject(overloaded);
  }
  await finish();
  await first;
  const second = limited.executeTurn(context(), turn);
  await finish();
  expect((await second).status).toBe("succeeded");
});

for (const [by, message] of [
  ["tenant", "This tenant runs as many turns as it may."],
  ["credential", "This credential runs as many turns as it may."],
] as const) {
  test(`a turn beyond the share of its ${by} is told so`, async () => {
    const { api, effects } = countingApi();
    const limited = limitTurns(api, {
      ...unknownCredential,
      slots: { admit: () => Promise.resolve({ kind: "refused", by }) },
    });
    await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject({ ...overloaded, message });
    expect(effects).toEqual([]);
  });
}

test("a turn whose place cannot be counted does not run, and the operator learns why", async () => {
  const { api, effects } = countingApi();
  const outage = new Error("gone");
  const errors: unknown[] = [];
  const limited = limitTurns(api, {
    ...unknownCredential,
    slots: { admit: () => Promise.reject(outage) },
    onError: (error) => void errors.push(error),
  });
  await expect(limited.executeTurn(context(), turn)).rejects.toMatchObject(overloaded);
  expect([effects, errors]).toEqual([[], [outage]]);
});

test("a place is the tenant's and the credential's of the request; outside of one, the actor's", async () => {
  const { api } = countingApi();
  const owners: TurnOwner[] = [];
  const admit = (owner: TurnOwner) => {
    owners.push(owner);
    return Promise.resolve({ kind: "admitted", release: () => Promise.resolve() } as const);
  };
  let credentialId: string | undefined = "credential-1";
  const limited = limitTurns(api, { slots: { admit }, credentialOf: () => credentialId, onError: () => {} });
  await limited.executeTurn(context({ namespaceId: "tenant-2" }), turn);
  credentialId = undefined;
  await limited.executeTurn(context(), turn);
  expect(owners).toEqual([
    { namespaceId: "tenant-2", credentialId: "credential-1" },
    { namespaceId: "tenant-1", credentialId: "agent:assistant" },
  ]);
});

test("everything else is not limited", () => {
  const { api, limited } = waitingTurns(1);
  expect(limited.invokeTool).toBe(api.invokeTool);
});
