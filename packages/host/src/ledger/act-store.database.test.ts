import { describe, expect, test } from "vitest";
import { actStoreSuite } from "turnpike/testing";
import { databaseKinds, openFresh } from "../../test/databases.ts";
import { openStores } from "../compose/stores.ts";

describe.each(databaseKinds)("acts on %s", (kind) => {
  for (const one of actStoreSuite(async () => openStores(await openFresh(kind)).acts)) {
    test(one.name, () => expect(one.run()).resolves.toBeUndefined());
  }
});
