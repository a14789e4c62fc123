import { describe, expect, test } from "vitest";
import { databaseKinds, sharedDatabase } from "../../../test/databases.ts";
import { payingWorld, payment, wanting } from "../../../test/paying-turns.ts";
import { recordStatements } from "../../../test/watched-database.ts";

describe.each(databaseKinds)("a turn on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const { calls, isPure, commits } of [
    { calls: 1, isPure: false, commits: 6 },
    { calls: 3, isPure: false, commits: 6 },
    { calls: 1, isPure: true, commits: 4 },
    { calls: 3, isPure: true, commits: 4 },
  ])
    test(`that ${isPure ? "is pure" : "asks a provider"} waits for ${commits} commits with ${calls} calls at once`, async () => {
      const { database, statements } = recordStatements(await open());
      const wanted = Array.from({ length: calls }, (_, place) => payment(`call-${place}`));
      const { run } = await payingWorld(
        database,
        wanting(isPure, () => wanted),
      );
      // The first finds nothing in the caches.
      for (const executionId of ["first", "second"]) {
        statements.length = 0;
        expect(await run(executionId)).toMatchObject({ status: "succeeded" });
      }
      // For its beginning, its admission, what it may do, its calls, their results and its end. Where no provider has to be asked, its
      // calls are stored with what it may do, and its end with their results. On PostgreSQL a decision asks whether the grants are
      // still those that are known: what led to it is stored meanwhile.
      expect(statements.filter((text) => text === "commit")).toHaveLength(kind === "sqlite" ? commits : commits + 1);
    });
});
