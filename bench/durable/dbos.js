// The same work as workflows of DBOS, as a process of its own that is told what to do. Plain JavaScript that is run where it
// is, because the package is installed beside it and nowhere else. Everything is as it comes, except for the log.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { answerOrders, appendLine, memoryNow, measureCpu } from "./work.js";

const { database, file, hangs } = JSON.parse(process.argv[2]);
const aDaySeconds = 86_400;

const steps = DBOS.registerWorkflow(
  async (count) => {
    for (let place = 0; place < count; place += 1)
      await DBOS.runStep(() => Promise.resolve({ said: "something short", place }), { name: `step-${place}` });
  },
  { name: "steps" },
);

const append = DBOS.registerWorkflow(
  async (line) => {
    await DBOS.runStep(() => appendLine(file, line, hangs), { name: "append" });
    return "succeeded";
  },
  { name: "append" },
);

const wait = DBOS.registerWorkflow(
  async (id) => {
    process.send({ waits: id });
    await DBOS.recv("answer", { timeoutSeconds: aDaySeconds });
    process.send({ goesOn: id });
  },
  { name: "wait" },
);

const start = (workflow, id, input) => DBOS.startWorkflow(workflow, { workflowID: id })(input);

DBOS.setConfig({ name: "bench", systemDatabaseUrl: database, logLevel: "error" });
await DBOS.launch();

answerOrders({
  steps: ({ ids, count }) =>
    measureCpu(async () => {
      const handles = await Promise.all(ids.map((id) => start(steps, id, count)));
      await Promise.all(handles.map((handle) => handle.getResult()));
    }),
  async append({ ids }) {
    await Promise.all(ids.map((id) => start(append, id, id)));
  },
  results: ({ ids }) => Promise.all(ids.map((id) => DBOS.retrieveWorkflow(id).getResult({ pollingIntervalMs: 20 }))),
  async wait({ id }) {
    await start(wait, id, id);
  },
  answer: ({ id }) => DBOS.send(id, "approved", "answer"),
  memory: memoryNow,
  cpu: () => process.cpuUsage(),
  close: () => DBOS.shutdown(),
});
