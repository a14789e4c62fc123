// Turns of this project's executor that make steps, on the journal of a host, as a process of its own that is told what to do.
// Plain JavaScript that is run where it is: it imports built files of the host that no package exports.
import { createKernel } from "../../packages/turnpike/dist/kernel/index.js";
import { createTurnExecutor } from "../../packages/turnpike/dist/runtime/index.js";
import { openStores } from "../../packages/host/dist/compose/stores.js";
import { openDatabase } from "../../packages/host/dist/storage/index.js";
import { answerOrders, measureCpu } from "./work.js";

const { database: location } = JSON.parse(process.argv[2]);
const agent = { kind: "agent", agentId: "assistant" };
const alice = { kind: "human", userId: "alice" };
const [namespaceId, purpose, traceId] = ["bench", "measure", "trace-1"];
const grant = {
  id: "turns",
  namespaceId,
  subject: agent,
  issuer: alice,
  capabilities: [
    { resource: { namespace: "service.execution", path: ["agent", "assistant"] }, actions: ["invoke"], scope: "exact" },
  ],
  constraints: {},
  issuedAt: "2026-01-01T00:00:00Z",
};

const database = await openDatabase(location);
const stores = openStores(database);
const kernel = createKernel({
  grants: { load: () => Promise.resolve([grant]), find: () => Promise.resolve(grant) },
  audit: stores.audit,
  ledger: stores.decisions,
});
const runtime = {
  manifest: { id: "steps", version: "1" },
  resumes: () => true,
  async run({ message: { payload } }, host) {
    for (let place = 0; place < payload.count; place += 1)
      await host.step(`step-${place}`, () => ({ said: "something short", place }));
    return { type: "complete", output: "done" };
  },
};
const executor = createTurnExecutor({ kernel, runtime, journal: stores.turns, defaults: { timeoutMs: 600_000 } });

async function runTurn(executionId, count) {
  const now = new Date().toISOString();
  const envelope = { version: 1, id: executionId, createdAt: now, traceId, purpose, sender: alice, receiver: agent };
  const principals = { actor: agent, authority: alice, owner: alice };
  const context = { ...principals, enabledToolNamespaces: [], namespaceId, now, purpose, traceId };
  const message = { ...envelope, payload: { count } };
  const { status } = await executor.execute({ version: 1, executionId, agent, message, context }, { isAsync: true });
  if (status !== "succeeded") throw new Error(`A turn ended ${status}.`);
}

answerOrders({
  steps: ({ ids, count }) => measureCpu(() => Promise.all(ids.map((id) => runTurn(id, count)))),
  close: () => database.close(),
});
