import { describe, expect, test } from "vitest";
import { databaseKinds, sharedDatabase } from "../../../test/databases.ts";
import { payingWorld, payment, wanting } from "../../../test/paying-turns.ts";
import { recordStatements } from "../../../test/watched-database.ts";

describe.each(databaseKinds)("a turn on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const { calls, onlyThinks, commits } of [
    { calls: 1, onlyThinks: false, commits: 6 },
    { calls: 3, onlyThinks: false, commits: 6 },
    { calls: 1, onlyThinks: true, commits: 4 },
    { calls: 3, onlyThinks: true, commits: 4 },
  ])
    test(`that ${onlyThinks ? "only thinks" : "asks somebody"} waits for ${commits} commits with ${calls} calls at once`, async () => {
      const { database, statements } = recordStatements(await open());
      const wanted = Array.from({ length: calls }, (_, place) => payment(`call-${place}`));
      const { run } = await payingWorld(
        database,
        wanting(onlyThinks, () => wanted),
      );
      // The first finds nothing in the caches.
      for (const executionId of ["first", "second"]) {
        statements.length = 0;
        expect(await run(executionId)).toMatchObject({ status: "succeeded" });
      }
      // For its beginning, its admission, what it may do, its calls, their results and its end. Where nobody has to be asked, its
      // calls are kept with what it may do, and its end with their results. On PostgreSQL a decision asks whether the grants are
      // still those that are known: what led to it is kept meanwhile.
      expect(statements.filter((text) => text === "commit")).toHaveLength(kind === "sqlite" ? commits : commits + 1);
    });
});
