import { rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AccessContext } from "turnpike/contracts";
import { databaseKinds, newLocation, newTenant, openHost, openPair, sharedDatabase } from "../../test/databases.ts";
import { countingApi, turn } from "../../test/counting-api.ts";
import { identityProvider, noon, trusting } from "../../test/identity-provider.ts";
import { access, alice, context, neverAborted } from "../../test/records.ts";
import type { Database } from "../storage/database.ts";
import { openStores } from "../compose/stores.ts";
import { createAccessGuard } from "./access-guard.ts";
import { authenticate, type Caller } from "./authenticate.ts";
import { createJwtVerifier, type JwtVerifier } from "./jwt.ts";

const gone = { isActive: false };

function bearing(token: string): Headers {
  return new Headers({ authorization: `Bearer ${token}` });
}

/** Everything that a host of a database guards its turns with, and a way to do something in the middle of a turn. */
function guarded(database: Database) {
  const stores = openStores(database);
  const time = { now: noon };
  let sender: Caller | undefined;
  const guard = createAccessGuard({ settings: stores.settings, clock: () => time.now, callerOf: () => sender });
  const check = (of: AccessContext) => guard.check(of, neverAborted);
  return {
    stores,
    time,
    check,
    /** Runs a turn that the caller starts, and does something while it runs. */
    async during(caller: Caller | undefined, of: AccessContext, work: () => Promise<void>): Promise<void> {
      sender = caller;
      const { api } = countingApi(work);
      await guard.watchTurns(api).executeTurn(of, turn);
    },
    callerByJwt: (jwt: JwtVerifier, token: string) =>
      authenticate({ ...stores, jwt, clock: () => noon }, bearing(token)),
    async started(namespaceId: string, expiresAt?: string) {
      const made = await stores.credentials.create({ namespaceId, access, ...(expiresAt && { expiresAt }) });
      const caller = await authenticate({ ...stores, clock: () => noon }, bearing(made.token));
      const running = context({ namespaceId, executionId: "id-1" });
      return { id: made.id, caller, running };
    },
  };
}

describe.each(databaseKinds)("access of a running turn on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("continues when its credential gets another token, while what was opened with the old one does not", async () => {
    const { stores, time, check, during, started } = guarded(await open());
    const { id, caller, running } = await started(newTenant());
    await during(caller, running, async () => {
      expect(await caller.isStillAdmitted(time.now)).toBe(true);
      await stores.credentials.rotate(id, time.now);
      expect(await check(running)).toMatchObject({ isActive: true });
      expect(await caller.isStillAdmitted(time.now)).toBe(false);
    });
  });

  test("is active while its credential is, with the namespaces that are on now", async () => {
    const { stores, check, during, started } = guarded(await open());
    const { caller, running } = await started(newTenant());
    await during(caller, running, async () => {
      expect(await check(running)).toEqual({ isActive: true, enabledToolNamespaces: [] });
      await stores.settings.applyUpdate(running, { enable: ["files", "messages"] }, neverAborted);
      expect(await check(running)).toEqual({ isActive: true, enabledToolNamespaces: ["files", "messages"] });
      await stores.settings.applyUpdate(running, { disable: ["files"] }, neverAborted);
      expect(await check(running)).toEqual({ isActive: true, enabledToolNamespaces: ["messages"] });
    });
    expect.assertions(3);
  });

  test("ends with its credential's revocation, also under a clock that is set back", async () => {
    const { stores, time, check, during, started } = guarded(await open());
    const { id, caller, running } = await started(newTenant());
    await during(caller, running, async () => {
      expect(await check(running)).toMatchObject({ isActive: true });
      await stores.credentials.revoke(id, noon.toISOString());
      expect(await check(running)).toEqual(gone);
      time.now = new Date(0);
      expect(await check(running)).toEqual(gone);
    });
    expect.assertions(3);
  });

  test("ends when its credential expires", async () => {
    const { time, check, during, started } = guarded(await open());
    const { caller, running } = await started(newTenant(), "2026-01-01T12:00:01Z");
    await during(caller, running, async () => {
      expect(await check(running)).toMatchObject({ isActive: true });
      time.now = new Date(noon.getTime() + 1000);
      expect(await check(running)).toEqual(gone);
    });
    expect.assertions(2);
  });

  test("ends when its credential is there no more", async () => {
    const database = await open();
    const { stores, check, during, started } = guarded(database);
    const { id, caller, running } = await started(newTenant());
    await during(caller, running, async () => {
      await database.db.deleteFrom("credentials").where("id", "=", id).execute();
      // Whatever ends the revision: what was read before counts no more.
      await stores.credentials.create({ namespaceId: "elsewhere", access });
      expect(await check(running)).toEqual(gone);
    });
    expect.assertions(1);
  });

  test("belongs to no caller before the turn, after it, and in a turn of another name, actor or tenant", async () => {
    const { check, during, started } = guarded(await open());
    const { caller, running } = await started(newTenant());
    const { executionId: _none, ...noTurn } = running;
    expect(await check(running)).toEqual(gone);
    await during(caller, running, async () => {
      const others: AccessContext[] = [
        { ...running, executionId: "id-2" },
        { ...running, namespaceId: newTenant() },
        { ...running, actor: alice },
        noTurn,
      ];
      for (const other of others) expect(await check(other)).toEqual(gone);
      expect(await check(running)).toMatchObject({ isActive: true });
    });
    expect(await check(running)).toEqual(gone);
    expect.assertions(7);
  });

  test("belongs to no caller after a turn that failed", async () => {
    const { check, during, started } = guarded(await open());
    const { caller, running } = await started(newTenant());
    await expect(during(caller, running, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await check(running)).toEqual(gone);
  });

  test("belongs to no caller in a turn without a known caller", async () => {
    const { check, during, started } = guarded(await open());
    const { running } = await started(newTenant());
    await during(undefined, running, async () => expect(await check(running)).toEqual(gone));
    expect.assertions(1);
  });

  test("cannot be lent by a second turn of the same name", async () => {
    const { stores, check, during, started } = guarded(await open());
    const tenant = newTenant();
    const [first, second] = [await started(tenant), await started(tenant)];
    await during(first.caller, first.running, async () => {
      const again = during(second.caller, second.running, () => Promise.resolve());
      await expect(again).rejects.toMatchObject({
        status: 409,
        code: "replay_pending",
        headers: { "retry-after": "1" },
      });
      await stores.credentials.revoke(first.id, noon.toISOString());
      expect(await check(first.running)).toEqual(gone);
    });
    expect.assertions(2);
  });

  test("cannot be established while the store does not answer", async () => {
    const database = await openHost(await newLocation(kind));
    const { check, during, started } = guarded(database);
    const { caller, running } = await started(newTenant());
    await during(caller, running, async () => {
      await database.close();
      await expect(check(running)).rejects.toBeInstanceOf(Error);
    });
    expect.assertions(1);
  });

  test("ends when the key of its token has left the key set", async () => {
    const provider = await identityProvider();
    const config = trusting(provider);
    let ms = 0;
    const jwt = createJwtVerifier(config, { clock: () => ms });
    const { check, during, callerByJwt } = guarded(await open());
    const caller = await callerByJwt(jwt, await provider.sign());
    const running = context({ namespaceId: "tenant-1", actor: alice, executionId: "id-1" });
    await during(caller, running, async () => {
      expect(await check(running)).toMatchObject({ isActive: true });
      writeFileSync(config.jwks, JSON.stringify({ keys: [] }));
      ms = 300_000;
      expect(await check(running)).toEqual(gone);
    });
    expect.assertions(2);
  });

  test("cannot be established while the key set of its token cannot be read, unless the token expires", async () => {
    const provider = await identityProvider();
    const config = trusting(provider);
    let ms = 0;
    const jwt = createJwtVerifier(config, { clock: () => ms });
    const { time, check, during, callerByJwt } = guarded(await open());
    const caller = await callerByJwt(jwt, await provider.sign());
    const running = context({ namespaceId: "tenant-1", actor: alice, executionId: "id-1" });
    await during(caller, running, async () => {
      rmSync(config.jwks);
      ms = 300_000;
      await expect(check(running)).rejects.toThrow("key set could not be read");
      time.now = new Date(noon.getTime() + 3_600_000);
      expect(await check(running)).toEqual(gone);
    });
    expect.assertions(2);
  });

  test("ends when its token expires", async () => {
    const provider = await identityProvider();
    const { time, check, during, callerByJwt } = guarded(await open());
    const caller = await callerByJwt(createJwtVerifier(trusting(provider)), await provider.sign());
    const running = context({ namespaceId: "tenant-1", actor: alice, executionId: "id-1" });
    await during(caller, running, async () => {
      expect(await check(running)).toMatchObject({ isActive: true });
      time.now = new Date(noon.getTime() + 3_600_000);
      expect(await check(running)).toEqual(gone);
    });
    expect.assertions(2);
  });
});

test("what another host revokes or switches off counts at the next call", async () => {
  const [here, there] = await openPair();
  const { stores, check, during, started } = guarded(here);
  const others = openStores(there);
  const { id, caller, running } = await started(newTenant());
  await stores.settings.applyUpdate(running, { enable: ["files"] }, neverAborted);
  await during(caller, running, async () => {
    expect(await check(running)).toEqual({ isActive: true, enabledToolNamespaces: ["files"] });
    await others.settings.applyUpdate(running, { disable: ["files"] }, neverAborted);
    expect(await check(running)).toEqual({ isActive: true, enabledToolNamespaces: [] });
    await others.credentials.revoke(id, noon.toISOString());
    expect(await check(running)).toEqual(gone);
  });
  expect.assertions(3);
});
