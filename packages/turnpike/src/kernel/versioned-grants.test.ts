import { describe, expect, test } from "vitest";
import { ask, context, grant, olivia, stranger, untyped, world } from "../../test/decisions.ts";
import type { Grant } from "../contracts/index.ts";
import type { GrantScope, GrantSource, VersionedGrants } from "./ports.ts";
import { cachedGrants, type VersionedGrantSource } from "./versioned-grants.ts";

/** A source whose grants can be exchanged, and which counts how often each of its methods was asked. */
function versionedSource(grants: readonly Grant[]) {
  const asked = { versions: 0, loads: 0 };
  const state = { version: "1", grants };
  const source: VersionedGrantSource = {
    version() {
      asked.versions += 1;
      return Promise.resolve(state.version);
    },
    load() {
      asked.loads += 1;
      return Promise.resolve({ version: state.version, grants: state.grants });
    },
  };
  return { source, state, asked };
}

/** A grant, and how often its id was read. */
function countedGrant(): { held: Grant; reads: () => number } {
  let reads = 0;
  const held = Object.defineProperty(grant(), "id", {
    enumerable: true,
    get() {
      reads += 1;
      return "grant-1";
    },
  });
  return { held, reads: () => reads };
}

const only = ({ load }: VersionedGrantSource): GrantSource => ({ load });

describe("grants with a version", () => {
  test("are read once a version, though they are never frozen", async () => {
    const { held, reads } = countedGrant();
    const { source, state } = versionedSource([held]);
    const { kernel } = world(only(source));
    for (const time of [1, 2, 3])
      expect(await kernel.authorize(context(), ask()), `time ${time}`).toMatchObject({ allowed: true });
    expect(reads()).toBe(1);
    state.version = "2";
    await kernel.authorize(context(), ask());
    expect(reads()).toBe(2);
    expect(Object.isFrozen(held)).toBe(false);
  });

  test("are decided on anew at the first call after their version changed, and after it changed back", async () => {
    const { source, state } = versionedSource([grant()]);
    const { kernel } = world(only(source));
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("allowed");
    Object.assign(state, { version: "2", grants: [] });
    expect((await kernel.authorize(context(), ask())).reasonCode).toBe("no_matching_grant");
    Object.assign(state, { version: "1", grants: [grant({ id: "grant-2" })] });
    expect((await kernel.authorize(context(), ask())).matchedGrantId).toBe("grant-2");
  });

  for (const row of [
    { name: "tenant", changes: { namespaceId: "elsewhere" } },
    { name: "actor", changes: { actor: stranger } },
    { name: "authority", changes: { authority: stranger } },
    { name: "owner", changes: { owner: stranger } },
    { name: "purpose", changes: { purpose: "snooping" } },
  ]) {
    test(`of one ${row.name} say nothing of another's under the same version`, async () => {
      const asked: GrantScope[] = [];
      const { kernel } = world({
        load(scope) {
          asked.push(scope);
          return Promise.resolve({ version: "1", grants: asked.length === 1 ? [grant()] : [] });
        },
      });
      expect((await kernel.authorize(context({ owner: olivia }), ask())).reasonCode).toBe("allowed");
      expect((await kernel.authorize(context({ owner: olivia, ...row.changes }), ask())).reasonCode).not.toBe(
        "allowed",
      );
      expect(asked).toHaveLength(2);
    });
  }

  test("of one source say nothing of another's", async () => {
    const [one, other] = [versionedSource([grant()]), versionedSource([])];
    expect(await world(only(one.source)).kernel.authorize(context(), ask())).toMatchObject({ allowed: true });
    expect(await world(only(other.source)).kernel.authorize(context(), ask())).toMatchObject({ allowed: false });
  });

  for (const row of [
    { name: "that do not fit the contract", answer: { version: "1", grants: [{}] } },
    { name: "of another holder", answer: { version: "1", grants: [grant({ subject: stranger })] } },
    { name: "in something that is no array", answer: { version: "1", grants: "all" } },
    { name: "under an empty version", answer: { version: "", grants: [grant()] } },
    { name: "under a number", answer: { version: 1, grants: [grant()] } },
  ]) {
    test(`${row.name} are unavailable, each time`, async () => {
      const { kernel } = world({ load: () => Promise.resolve(untyped<VersionedGrants>(row.answer)) });
      for (const time of [1, 2]) {
        const decision = await kernel.authorize(context(), ask());
        expect(decision, `time ${time}`).toMatchObject({ allowed: false, reasonCode: "authority_unavailable" });
      }
    });
  }
});

describe("cached grants", () => {
  test("are loaded once a version, whose number is asked for at every call", async () => {
    const { source, state, asked } = versionedSource([grant()]);
    const { kernel } = world(cachedGrants(source));
    for (const time of [1, 2, 3])
      expect(await kernel.authorize(context(), ask()), `time ${time}`).toMatchObject({ allowed: true });
    expect(asked).toEqual({ versions: 3, loads: 1 });
    Object.assign(state, { version: "2", grants: [grant({ revokedAt: "2026-01-01T00:00:00Z" })] });
    expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: false });
    expect(asked).toEqual({ versions: 4, loads: 2 });
  });

  test("are remembered under the version that they were loaded at, not under the one that was asked for before", async () => {
    const { source, state, asked } = versionedSource([grant()]);
    const { kernel } = world(cachedGrants({ ...source, version: () => Promise.resolve("2") }));
    await kernel.authorize(context(), ask());
    await kernel.authorize(context(), ask());
    expect(asked.loads).toBe(2);
    Object.assign(state, { version: "2", grants: [] });
    expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: false });
  });

  for (const method of ["version", "load"] as const) {
    test(`are unavailable when ${method} fails, whatever is remembered`, async () => {
      const { source, state } = versionedSource([grant()]);
      let isDown = false;
      const failing = (_scope: GrantScope, signal: AbortSignal) =>
        isDown ? Promise.reject(new Error("down")) : source[method](_scope, signal);
      const { kernel } = world(cachedGrants({ ...source, [method]: failing }));
      await kernel.authorize(context(), ask());
      isDown = true;
      state.version = "2";
      expect((await kernel.authorize(context(), ask())).reasonCode).toBe("authority_unavailable");
    });
  }

  test("are found one by one where the source finds them", async () => {
    const { source } = versionedSource([]);
    expect(cachedGrants(source).find).toBeUndefined();
    const held = grant();
    const found = cachedGrants({
      ...source,
      find: (_tenant, id) => Promise.resolve(id === held.id ? held : undefined),
    });
    expect(await found.find?.("tenant", "grant-1", new AbortController().signal)).toBe(held);
  });

  test("of more scopes than are remembered are loaded again", async () => {
    const { source, asked } = versionedSource([]);
    const { kernel } = world(cachedGrants(source));
    for (let place = 0; place <= 1024; place += 1)
      await kernel.authorize(context({ purpose: `purpose-${place}` }), ask());
    await kernel.authorize(context({ purpose: "purpose-1024" }), ask());
    expect(asked.loads).toBe(1025);
    await kernel.authorize(context({ purpose: "purpose-0" }), ask());
    expect(asked.loads).toBe(1026);
  });
});
