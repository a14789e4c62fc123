import { describe, expect, test } from "vitest";
import { databaseKinds, sharedDatabase } from "../../test/databases.ts";
import { exchangeOf } from "../../test/connections.ts";
import { openStores } from "../compose/stores.ts";

const hex = (letter: string, length: number): string => letter.repeat(length);
const code = `${hex("a", 16)}_${hex("b", 64)}`;
const refreshToken = `tpr_${hex("a", 16)}_${hex("b", 64)}_${hex("c", 64)}`;
const accessToken = `tp_${hex("a", 16)}_${hex("b", 64)}`;

describe.each(databaseKinds)("what a client made up, on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("is refused, and begins no revision, for which every host would read again what it caches", async () => {
    const database = await open();
    const { connections } = openStores(database);
    const revision = async () => (await database.db.selectFrom("revision").select("value").executeTakeFirst())?.value;
    const before = await revision();
    const now = new Date();
    expect(await connections.exchange(exchangeOf(code, "client-1"), now)).toEqual({ kind: "invalid" });
    expect(await connections.refresh({ token: refreshToken, clientId: "client-1" }, now)).toEqual({ kind: "invalid" });
    for (const token of [refreshToken, accessToken, "no token"])
      expect(await connections.revokeToken(token, "client-1", now)).toBeUndefined();
    expect(await revision()).toBe(before);
  });
});
