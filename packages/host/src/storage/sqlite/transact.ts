import type { RunSteps, Step } from "../steps.ts";
import type { Threads } from "./dialect.ts";

const begin: Step = { sql: "begin immediate", rows: [[]] };
const commit: Step = { sql: "commit", rows: [[]] };
const rollback: Step = { sql: "rollback", rows: [[]] };

/** Sends one message to the writer for each group of steps. The first begins the transaction, the last ends it. */
export async function transact<T>(
  { writer, writing }: Pick<Threads, "writer" | "writing">,
  work: (run: RunSteps) => Promise<T>,
): Promise<T> {
  const release = await writing.acquire();
  try {
    const connection = writer.connect();
    let state: "new" | "open" | "ended" = "new";
    const run: RunSteps = async (steps, end) => {
      const before = state === "new" ? [begin] : [];
      state = "open";
      const results = await connection.run([...before, ...steps, ...(end === "commit" ? [commit] : [])]);
      if (end === "commit") state = "ended";
      return results.slice(before.length, before.length + steps.length);
    };
    try {
      return await work(run);
    } finally {
      // A transaction that the database rolled back by itself is not rolled back again.
      if ((state as string) === "open") await connection.run([rollback]).catch(() => {});
    }
  } finally {
    release();
  }
}
