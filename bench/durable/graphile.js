// The same steps as jobs of Graphile Worker, each of which adds the next one in the transaction in which it stores what it came to.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { answerOrders, measureCpu } from "./work.js";

const { database } = JSON.parse(process.argv[2]);
/** What to do when the last step of an id has ended. */
const endings = new Map();

const utils = await makeWorkerUtils({ connectionString: database });
await utils.migrate();
await utils.withPgClient((client) =>
  client.query(
    "create table if not exists step_results (id text, place integer, result json, primary key (id, place))",
  ),
);

async function step({ id, place, count }, { withPgClient }) {
  await withPgClient(async (client) => {
    await client.query("begin");
    await client.query("insert into step_results values ($1, $2, $3)", [id, place, { said: "something short", place }]);
    if (place + 1 < count)
      await client.query("select graphile_worker.add_job('step', $1::json)", [{ id, place: place + 1, count }]);
    await client.query("commit");
  });
  if (place + 1 === count) endings.get(id)();
}

const runner = await run({
  connectionString: database,
  concurrency: 32,
  maxPoolSize: 34,
  noHandleSignals: true,
  logger: new Logger(() => (level, message) => void (level === "error" && console.error(message))),
  taskList: { step },
});

answerOrders({
  steps: ({ ids, count }) =>
    measureCpu(() =>
      Promise.all(
        ids.map(async (id) => {
          const ended = new Promise((resolve) => endings.set(id, resolve));
          await utils.addJob("step", { id, place: 0, count });
          await ended;
        }),
      ),
    ),
  async close() {
    await runner.stop();
    await utils.release();
  },
});
