import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AccessContext } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { expect, test } from "vitest";
import { context } from "../../test/records.ts";
import { createAccessGuard } from "../access/index.ts";
import { createOutdatedHost, createTurnEngine } from "../turns/index.ts";
import { inLayers, requestLayers, runLayers, type Layer, type PipelineParts } from "./pipeline.ts";

const operations = [
  "authorize",
  "beginAct",
  "executeTurn",
  "finishAct",
  "getAct",
  "invokeResource",
  "invokeTool",
  "listToolNamespaces",
  "listTools",
  "reach",
  "sendMessage",
  "updateToolNamespaces",
] as const;

/** A service of which every operation is a function of its own. */
function serviceOf(): ServiceApi {
  return Object.fromEntries(operations.map((name) => [name, () => Promise.resolve(name)])) as unknown as ServiceApi;
}

function layersOf(): { requests: Layer[]; runs: Layer[] } {
  const engine = createTurnEngine({} as Parameters<typeof createTurnEngine>[0]);
  const access = createAccessGuard({} as Parameters<typeof createAccessGuard>[0]);
  const outdated = createOutdatedHost({
    database: { isTooOld: () => false, showDrained() {} },
  } as unknown as Parameters<typeof createOutdatedHost>[0]);
  const parts = { engine, access, outdated, tracing: {} } as unknown as PipelineParts & { engine: typeof engine };
  return { requests: requestLayers(parts), runs: runLayers(parts) };
}

const rowsOf = (layers: readonly Layer[]): string[] => layers.map(({ name, wraps }) => `${name}: ${wraps.join(", ")}`);

test("the layers around operations are these, in this order", () => {
  const { requests, runs } = layersOf();
  expect(rowsOf(requests)).toEqual([
    "hold calls that wait for a person: beginAct",
    "refuse what is new when too old: invokeTool, invokeResource, sendMessage, beginAct, finishAct, executeTurn",
    "say which servers are away: listTools",
    "refuse on a database that went back: invokeTool, invokeResource, sendMessage, beginAct, finishAct, executeTurn",
    "say where an approval is given: beginAct, getAct",
    "name the turn of an act: beginAct",
    "limit senders: executeTurn",
    "answer known turns: executeTurn",
    "protect from replay: invokeTool, invokeResource, sendMessage",
    "wait for turns when the host stops: executeTurn",
  ]);
  expect(rowsOf(runs)).toEqual([
    "watch for turns under way: executeTurn",
    "limit turns: executeTurn",
    "watch the access of turns: executeTurn",
    "measure turns: executeTurn",
    "trace turns: executeTurn",
    "hide namespaces: listToolNamespaces, updateToolNamespaces",
    "write events with turns: executeTurn",
  ]);
});

for (const layer of Object.values(layersOf()).flat())
  test(`"${layer.name}" wraps the operations that it names, and no other`, () => {
    const service = serviceOf();
    const wrapped = layer.wrap(service);
    expect(operations.filter((name) => wrapped[name] !== service[name])).toEqual([...layer.wraps].toSorted());
  });

test("the first layer sees a call first, and an operation that a layer does not name passes it by", async () => {
  const seen: string[] = [];
  const layer = (name: string, wraps: Layer["wraps"]): Layer => ({
    name,
    wraps,
    wrap: (api) => ({
      ...api,
      reach: (...args) => (seen.push(`${name} reach`), api.reach(...args)),
      listTools: (...args) => (seen.push(`${name} list`), api.listTools(...args)),
    }),
  });
  const api = inLayers([layer("outer", ["reach", "listTools"]), layer("inner", ["reach"])], serviceOf());
  await api.reach({} as never);
  await api.listTools({} as never);
  expect(seen).toEqual(["outer reach", "inner reach", "outer list"]);
});

const source = fileURLToPath(new URL("..", import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => ({ file, text: readFileSync(join(source, file), "utf8") }));

/** Functions that take an api or a port, perhaps with options, and return the same kind. */
const layerFunction =
  /^export function (\w+)\(\s*\w+: (ServiceApi|ActStore|AuditSink|DecisionLedger|ToolHandler|ToolProvider|ResourceProvider|RuntimePlugin)\b[^{}]*?\): \2 \{/gm;

test("what wraps an api or a port is called by the pipeline alone", () => {
  const layered = files.filter(({ file }) => file !== join("compose", "pipeline.ts"));
  const layers = layered.flatMap(({ file, text }) =>
    [...text.matchAll(layerFunction)].map(([, name = ""]) => ({ name, file })),
  );
  const uses = layers.flatMap(({ name, file: own }) =>
    files
      .filter(({ file, text }) => file !== own && !file.endsWith("index.ts") && new RegExp(`\\b${name}\\b`).test(text))
      .map(({ file }) => `${name} in ${file}`),
  );
  expect(uses.toSorted()).toEqual(
    [
      "answerKnownTurns",
      "countAuditEvents",
      "countDecisions",
      "countOutcomes",
      "hideNamespaces",
      "holdCalls",
      "limitSenders",
      "limitTurns",
      "measureTurns",
      "protectFromReplay",
      "refuseOnLoss",
      "traceActs",
      "traceAuditedDecisions",
      "traceDecisions",
      "traceMcpServer",
      "traceResources",
      "traceSteps",
      "traceTool",
      "traceTurns",
      "writeEventsWithTurns",
    ].map((name) => `${name} in compose/pipeline.ts`),
  );
});

test("no other file spreads an api, or an operation's port, into one of its own", () => {
  const spreading = files.filter(({ text }) => /\.\.\.(api|kernel|service),/.test(text)).map(({ file }) => file);
  expect(spreading.toSorted()).toEqual([
    "access/access-guard.ts",
    "access/limit-senders.ts",
    "compose/pipeline.ts",
    "escalations/hold-calls.ts",
    "ledger/refuse-on-loss.ts",
    "ledger/replay-api.ts",
    "telemetry/measure.ts",
    "telemetry/trace-layers.ts",
    "tool-namespaces/hide-namespaces.ts",
    "turns/journal/pending-events.ts",
    "turns/known-turns.ts",
    "turns/outdated-host.ts",
    "turns/turn-engine.ts",
    "turns/turn-limit.ts",
  ]);
});

for (const { name, status, named } of [
  { name: "a turn of the actor that runs", status: "running", named: "turn-1" },
  { name: "one that waits", status: "waiting", named: "turn-1" },
  { name: "one that has ended", status: "succeeded", named: undefined },
  { name: "none of the actor's", status: undefined, named: undefined },
])
  test(`an act within the execution of ${name} is ${named === undefined ? "not " : ""}one of its calls`, async () => {
    const asked: unknown[] = [];
    const turns = {
      find(key: unknown) {
        asked.push(key);
        return Promise.resolve(status && { status });
      },
    };
    const layer = requestLayers({ turns, engine: {}, outdated: { refuseNew: (api: ServiceApi) => api } } as never).find(
      (one) => one.name === "name the turn of an act",
    );
    const seen: AccessContext[] = [];
    const beginAct = (given: AccessContext) => Promise.resolve(void seen.push(given));
    const api = layer?.wrap({ beginAct } as unknown as ServiceApi);
    await api?.beginAct?.(context(), { executionId: "turn-1" } as never);
    const { namespaceId, actor } = context();
    expect(asked).toEqual([{ namespaceId, actor, executionId: "turn-1" }]);
    expect(seen.map(({ executionId }) => executionId)).toEqual([named]);
  });
