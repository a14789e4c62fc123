import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { databaseKinds, openFresh, openPair, sharedDatabase } from "../../test/databases.ts";
import { bobAs } from "../../test/operators.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import { freshId } from "./secrets.ts";
import { presentedBy, type PresentedCredential } from "./credential-writes.ts";
import type { SessionHalves } from "./session-store.ts";

const now = new Date("2026-01-01T12:00:00.000Z");
const later = (ms: number): Date => new Date(now.getTime() + ms);
const hourMs = 3_600_000;
const minuteMs = 60_000;

interface Bob {
  id: string;
  presented: PresentedCredential;
}

async function enter({ credentials }: Stores, expiresAt?: string): Promise<Bob> {
  const made = { namespaceId: "operators", access: bobAs("admin"), ...(expiresAt !== undefined && { expiresAt }) };
  const { id, token } = await credentials.create(made);
  return { id, presented: presentedBy(token) };
}

/** The halves of a session of Bob's. */
async function begin({ sessions }: Stores, { presented }: Bob): Promise<SessionHalves> {
  const { cookie = "", page = "" } = (await sessions.begin(freshId(), { presented }, now)) ?? {};
  return { cookie, page };
}

async function code({ sessions }: Stores, { presented }: Bob): Promise<string> {
  return (await sessions.createCode(freshId(), presented, now)).code;
}

/** Begins a session with a code, as a browser does; whether it was begun. */
async function useCode({ sessions }: Stores, text: string, at = now): Promise<boolean> {
  const proof = await sessions.verifyCode(text, at);
  return proof !== undefined && (await sessions.begin(freshId(), proof, at)) !== undefined;
}

describe.each(databaseKinds)("sessions on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a session is its operator's, for twelve hours", async () => {
    const stores = openStores(await open());
    const bob = await enter(stores);
    const id = freshId();
    const begun = await stores.sessions.begin(id, { presented: bob.presented }, now);
    expect(begun).toEqual({
      cookie: expect.stringMatching(`^${id}_[0-9a-f]{64}$`),
      page: expect.stringMatching(/^[0-9a-f]{64}$/),
      expiresAt: "2026-01-02T00:00:00.000Z",
    });
    const { cookie = "", page = "" } = begun ?? {};
    const halves = { cookie, page };
    const credential = { id: bob.id, namespaceId: "operators", access: bobAs("admin") };
    const known = { credential, presented: bob.presented, session: { id, expiresAt: "2026-01-02T00:00:00.000Z" } };
    expect(await stores.sessions.verify(halves, now)).toEqual(known);
    expect(await stores.sessions.verify(halves, later(12 * hourMs - 1))).toEqual(known);
    expect(await stores.sessions.verify(halves, later(12 * hourMs))).toBeUndefined();
  });

  test("a session or a code that was refused as expired is over, also when the clock is set back", async () => {
    const stores = openStores(await open());
    const bob = await enter(stores);
    const [session, one] = [await begin(stores, bob), await code(stores, bob)];
    expect(await stores.sessions.verify(session, later(12 * hourMs))).toBeUndefined();
    expect(await stores.sessions.verifyCode(one, later(10 * minuteMs))).toBeUndefined();
    expect(await stores.sessions.verify(session, now)).toBeUndefined();
    expect(await stores.sessions.verifyCode(one, now)).toBeUndefined();
  });

  test("nothing in the database is the secret of a session or of a code", async () => {
    const database = await openFresh(kind);
    const stores = openStores(database);
    const bob = await enter(stores);
    const { cookie, page } = await begin(stores, bob);
    const secrets = [page, ...[cookie, await code(stores, bob)].map((value) => value.split("_")[1] ?? "")];
    const rows = [
      await database.db.selectFrom("sessions").selectAll().execute(),
      await database.db.selectFrom("one_time_codes").selectAll().execute(),
    ];
    for (const secret of secrets) {
      expect(JSON.stringify(rows)).not.toContain(secret);
      expect(JSON.stringify(rows)).toContain(createHash("sha256").update(secret).digest("hex"));
    }
  });

  for (const row of [
    { name: "a wrong secret", change: (value: string) => `${value.slice(0, -1)}${value.endsWith("0") ? "1" : "0"}` },
    { name: "an unknown id", change: (value: string) => `${"0".repeat(16)}${value.slice(16)}` },
    { name: "a shorter secret", change: (value: string) => value.slice(0, -1) },
    { name: "upper case", change: (value: string) => value.toUpperCase() },
    { name: "a line after it", change: (value: string) => `${value}\n` },
    { name: "nothing at all", change: () => "" },
  ]) {
    test(`a session or a code with ${row.name} is not valid`, async () => {
      const stores = openStores(await open());
      const bob = await enter(stores);
      const [session, one] = [await begin(stores, bob), await code(stores, bob)];
      expect(await stores.sessions.verify({ ...session, cookie: row.change(session.cookie) }, now)).toBeUndefined();
      expect(await stores.sessions.verifyCode(row.change(one), now)).toBeUndefined();
      expect(await stores.sessions.verify(session, now)).toBeDefined();
      expect(await stores.sessions.verifyCode(one, now)).toBeDefined();
    });
  }

  for (const row of [
    { name: "nothing", page: () => "" },
    { name: "what it was before there were halves", page: () => "1" },
    { name: "the half of another session of the same operator", page: (other: SessionHalves) => other.page },
    { name: "the other half itself", page: (_other: SessionHalves, { cookie }: SessionHalves) => cookie.slice(17) },
    {
      name: "a half that ends differently",
      page: (_other: SessionHalves, { page }: SessionHalves) => page.slice(0, -1) + (page.endsWith("0") ? "1" : "0"),
    },
  ]) {
    test(`a session whose page says ${row.name} is not valid`, async () => {
      const stores = openStores(await open());
      const bob = await enter(stores);
      const [session, other] = [await begin(stores, bob), await begin(stores, bob)];
      const halves = { ...session, page: row.page(other, session) };
      expect(await stores.sessions.verify(halves, now)).toBeUndefined();
      expect(await stores.sessions.verify(session, now)).toBeDefined();
    });
  }

  test("a session that an older version began, which knew one half, is not valid", async () => {
    const database = await open();
    const stores = openStores(database);
    const session = await begin(stores, await enter(stores));
    const [id = ""] = session.cookie.split("_");
    await database.db.updateTable("sessions").set({ page_hash: "" }).where("id", "=", id).execute();
    for (const page of [session.page, "", "1"])
      expect(await stores.sessions.verify({ ...session, page }, now)).toBeUndefined();
  });

  test("a code is no session, and a session is no code", async () => {
    const stores = openStores(await open());
    const bob = await enter(stores);
    const { cookie, page } = await begin(stores, bob);
    expect(await stores.sessions.verify({ cookie: await code(stores, bob), page }, now)).toBeUndefined();
    expect(await stores.sessions.verifyCode(cookie, now)).toBeUndefined();
  });

  for (const row of [
    { name: "revoked", end: ({ credentials }: Stores, { id }: Bob) => credentials.revoke(id, now.toISOString()) },
    { name: "rotated", end: ({ credentials }: Stores, { id }: Bob) => credentials.rotate(id, now) },
  ]) {
    test(`a credential that is ${row.name} ends its sessions and codes at once, and no others`, async () => {
      const stores = openStores(await open());
      const [bob, other] = [await enter(stores), await enter(stores)];
      const [session, one, remaining] = [await begin(stores, bob), await code(stores, bob), await begin(stores, other)];
      expect(await stores.sessions.verify(session, now)).toBeDefined();
      await row.end(stores, bob);
      expect(await stores.sessions.verify(session, now)).toBeUndefined();
      expect(await useCode(stores, one)).toBe(false);
      expect(await stores.sessions.verify(remaining, now)).toBeDefined();
    });
  }

  test("a credential that expires ends its sessions and codes", async () => {
    const stores = openStores(await open());
    const bob = await enter(stores, later(5 * minuteMs).toISOString());
    const [session, one] = [await begin(stores, bob), await code(stores, bob)];
    expect(await stores.sessions.verify(session, later(5 * minuteMs - 1))).toBeDefined();
    expect(await stores.sessions.verify(session, later(5 * minuteMs))).toBeUndefined();
    expect(await useCode(stores, one, later(5 * minuteMs))).toBe(false);
  });

  test("a session that was ended is not valid, and the operator's others stay valid", async () => {
    const stores = openStores(await open());
    const bob = await enter(stores);
    const [session, remaining] = [await begin(stores, bob), await begin(stores, bob)];
    const found = await stores.sessions.verify(session, now);
    await stores.sessions.end(found?.session.id ?? "");
    expect(await stores.sessions.verify(session, now)).toBeUndefined();
    expect(await stores.sessions.verify(remaining, now)).toBeDefined();
  });

  test("a code begins one session, within ten minutes", async () => {
    const stores = openStores(await open());
    const bob = await enter(stores);
    const id = freshId();
    const made = await stores.sessions.createCode(id, bob.presented, now);
    expect(made).toEqual({
      code: expect.stringMatching(`^${id}_[0-9a-f]{32}$`),
      expiresAt: "2026-01-01T12:10:00.000Z",
    });
    expect(await useCode(stores, await code(stores, bob), later(10 * minuteMs))).toBe(false);
    expect(await useCode(stores, made.code, later(10 * minuteMs - 1))).toBe(true);
    expect(await stores.sessions.verifyCode(made.code, now)).toBeUndefined();
    expect(await useCode(stores, made.code)).toBe(false);
  });

  for (const { ends, session, code: codeEnds } of [
    { ends: 5 * minuteMs, session: "2026-01-01T12:05:00.000Z", code: "2026-01-01T12:05:00.000Z" },
    { ends: 60 * minuteMs, session: "2026-01-01T13:00:00.000Z", code: "2026-01-01T12:10:00.000Z" },
    { ends: 13 * 60 * minuteMs, session: "2026-01-02T00:00:00.000Z", code: "2026-01-01T12:10:00.000Z" },
    { ends: 8e15, session: "2026-01-02T00:00:00.000Z", code: "2026-01-01T12:10:00.000Z" },
  ])
    test(`a session begun by a provider whose own ends after ${ends} ms ends at ${session}`, async () => {
      const stores = openStores(await open());
      const bob = await enter(stores);
      const bound = { browserHash: "browser", endsAt: later(ends) };
      const made = await stores.sessions.createCode(freshId(), bob.presented, now, bound);
      const proof = await stores.sessions.verifyCode(made.code, now, "browser");
      if (proof === undefined) throw new Error("The code is unknown.");
      const begun = await stores.sessions.begin(freshId(), proof, now);
      expect([begun?.expiresAt, made.expiresAt]).toEqual([session, codeEnds]);
      if (begun === undefined) throw new Error("No session begins.");
      const end = new Date(session);
      expect(await stores.sessions.verify(begun, new Date(end.getTime() - 1))).toBeDefined();
      expect(await stores.sessions.verify(begun, end)).toBeUndefined();
    });

  test("of many who use a code at the same instant, one gets in", async () => {
    const stores = openStores(await open());
    const one = await code(stores, await enter(stores));
    const proof = await stores.sessions.verifyCode(one, now);
    if (proof === undefined) throw new Error("The code is unknown.");
    const begun = await Promise.all(Array.from({ length: 8 }, () => stores.sessions.begin(freshId(), proof, now)));
    expect(begun.filter((each) => each !== undefined)).toHaveLength(1);
  });
});

describe("through two hosts", () => {
  test("of many who use a code at the same instant, one gets in", async () => {
    const [here, there] = (await openPair()).map((database) => openStores(database)) as [Stores, Stores];
    const one = await code(here, await enter(here));
    const proof = await there.sessions.verifyCode(one, now);
    if (proof === undefined) throw new Error("The code is unknown.");
    const hosts = [here, there, here, there, here, there];
    const begun = await Promise.all(hosts.map(({ sessions }) => sessions.begin(freshId(), proof, now)));
    expect(begun.filter((each) => each !== undefined)).toHaveLength(1);
  });

  test("a session that is ended, revoked or rotated at one is not valid at the other from the next request on", async () => {
    const [here, there] = (await openPair()).map((database) => openStores(database)) as [Stores, Stores];
    for (const end of [
      (_bob: Bob, id: string) => here.sessions.end(id),
      ({ id }: Bob) => here.credentials.revoke(id, now.toISOString()),
      ({ id }: Bob) => here.credentials.rotate(id, now),
    ]) {
      const bob = await enter(here);
      const session = await begin(here, bob);
      const known = await there.sessions.verify(session, now);
      expect(known).toBeDefined();
      await end(bob, known?.session.id ?? "");
      expect(await there.sessions.verify(session, now)).toBeUndefined();
    }
  });
});
