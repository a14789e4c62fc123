import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { adminExamples } from "../../packages/host/src/protocols/pages/admin-examples.ts";
import { ask, type Answer, type Ask } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";

// Every example of the description that a demo serves is sent to that demo, in an order in which each finds what it needs.

interface Parameter {
  name: string;
  in: "header" | "path" | "query";
  example?: string | number;
}

type Examples = Record<string, { value: object }>;

interface Operation {
  operationId: string;
  method: string;
  path: string;
  tags: string[];
  security?: object[];
  parameters: (Parameter & { $ref?: string })[];
  requestBody?: { content: Record<string, { examples: Examples }> };
  responses: Record<string, { $ref?: string; headers?: object; content?: Record<string, { examples?: Examples }> }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, Parameter>; responses: Record<string, { headers: object }> };
}

let host: HostProcess;
let assistant: string;
let alice: string;
let description: Description;
let operations: Map<string, Operation>;
/** The headers that came with any answer. */
const seen = new Set<string>();
/** What the answers were, by operation and example. */
const answers = new Map<string, Answer>();

beforeAll(async () => {
  const folder = makeFolder();
  host = await startHostProcess({ folder, args: ["serve", "--demo", "--port", "0"] });
  const tokens = JSON.parse(readFileSync(join(folder, ".turnpike", "demo-tokens.json"), "utf8")) as Record<
    string,
    string
  >;
  ({ assistant = "", alice = "" } = tokens);
  description = (await send("/openapi.json")).body as Description;
  operations = new Map(
    Object.entries(description.paths).flatMap(([path, verbs]) =>
      Object.entries(verbs).map(([verb, operation]) => [
        operation.operationId,
        { ...operation, path, method: verb.toUpperCase(), parameters: operation.parameters.map(resolved) },
      ]),
    ),
  );
});

function resolved(parameter: Parameter & { $ref?: string }): Parameter {
  return description.components.parameters[parameter.$ref?.split("/").at(-1) ?? ""] ?? parameter;
}

async function send(path: string, request: Ask = {}): Promise<Answer> {
  const answer = await ask(host.url, path, request);
  for (const name of answer.headers.keys()) seen.add(name);
  return answer;
}

/** What only the running demo knows replaces what an example made up. */
const knownLater: Readonly<Record<string, () => object>> = {
  showCredential: () => ({ id: bodyOf<{ id: string }>("createCredential demo").id }),
  rotateCredential: () => ({ id: bodyOf<{ id: string }>("createCredential demo").id }),
  revokeCredential: () => ({ id: bodyOf<{ id: string }>("createCredential demo").id }),
  showEscalation: () => ({ id: payment().id }),
  approveEscalation: payment,
  withdrawEscalation: payment,
  denyEscalation() {
    const { escalations } = bodyOf<{ escalations: { id: string; ask: string }[] }>("listEscalations");
    const { id, ask: hash } = escalations.find((one) => one.id !== payment().id) ?? {};
    return { id, ask: hash };
  },
  verifyAuditHeads: () => ({ heads: bodyOf<{ heads: object[] }>("readAuditHeads").heads }),
  createSession: () => ({ token: host.operatorToken() }),
  ...Object.fromEntries(
    ["startTrialTurn", "listOfferedTools", "tryTool"].map((name) => [
      name,
      () => ({ credentialId: assistant.split("_")[1] }),
    ]),
  ),
};

function bodyOf<Body>(name: string): Body {
  return answers.get(name)?.body as Body;
}

/** The escalation that a payment opens. */
function payment(): { id: string; ask: string } {
  const { error } = bodyOf<{ error: { details: { escalationId: string; requestHash: string } } }>(
    "invokeTool approval",
  );
  return { id: error.details.escalationId, ask: error.details.requestHash };
}

/** Sends one example of an operation, as the description says that it is sent. */
async function sendExample(name: string, key?: string): Promise<{ answer: Answer; expected: number; shown: unknown }> {
  const operation = operations.get(name);
  if (operation === undefined) throw new Error(`There is no operation ${name}.`);
  const { method, parameters, responses, requestBody, tags } = operation;
  const successes = Object.keys(responses).filter((status) => Number(status) < 400);
  const examplesAt = (status: string): Examples => responses[status]?.content?.["application/json"]?.examples ?? {};
  const expected = successes.find((status) => key !== undefined && key in examplesAt(status)) ?? successes[0] ?? "";
  const later = knownLater[name]?.() ?? {};
  const values = { ...Object.fromEntries(parameters.map((each) => [each.name, each.example])), ...later };
  const at = (place: Parameter["in"]): [string, string][] =>
    parameters.flatMap((each) => {
      const value = values[each.name as keyof typeof values] as unknown;
      return each.in === place && value !== undefined ? [[each.name, String(value)]] : [];
    });
  const path = at("path").reduce(
    (made, [parameter, value]) => made.replace(`{${parameter}}`, encodeURIComponent(value)),
    operation.path,
  );
  const query = new URLSearchParams(at("query")).toString();
  const headers = Object.fromEntries(at("header"));
  // It is the one header that changes what is answered.
  if (expected !== "202" || name !== "executeTurn") delete headers["prefer"];
  const isOperators = tags.includes("operators") || name === "metrics";
  const value = key === undefined ? undefined : requestBody?.content["application/json"]?.examples[key]?.value;
  const isStream = Object.keys(responses[expected]?.content ?? {}).join() === "text/event-stream";
  const answer = await send(`${path}${query && `?${query}`}`, {
    method,
    ...(operation.security?.length !== 0 && { token: isOperators ? host.operatorToken() : assistant }),
    headers: {
      "content-type": "application/json",
      accept: name === "sendMcpMessage" ? "application/json, text/event-stream" : "application/json",
      ...headers,
    },
    ...(value !== undefined && { body: { ...value, ...later } }),
    ...(isStream && { read: hangUp }),
  });
  answers.set(key === undefined ? name : `${name} ${key}`, answer);
  return {
    answer,
    expected: Number(expected),
    shown: key === undefined ? undefined : examplesAt(expected)[key]?.value,
  };
}

/** A stream without an end is read no further than to its head. */
async function hangUp(response: Response): Promise<string> {
  await response.body?.cancel();
  return "";
}

/** What tells one kind of result from another. */
function kindOf(body: unknown): object {
  const { status, allowed, error } = (body ?? {}) as { status?: string; allowed?: boolean; error?: { code: string } };
  return { status, allowed, code: error?.code };
}

/** The demo has no MCP server and no webhook. */
const notInDemo = new Set([
  "reviewMcpServer",
  "acceptMcpTools",
  "retryDelivery",
  "revokePerson",
  "restorePerson",
  "showConnection",
  "revokeConnection",
]);

/** Sent only where an MCP server is away; the tests of such servers expect it. */
const notInDemoHeaders = new Set(["x-tools-unavailable"]);

describe("on the demo as it is,", () => {
  test("every request of the description is answered with the status and the kind of result that it shows", async () => {
    const callers = [...operations.values()].filter(({ tags }) => !tags.includes("operators"));
    for (const { operationId, requestBody } of callers) {
      const keys = Object.keys(requestBody?.content["application/json"]?.examples ?? {});
      for (const key of keys.length === 0 ? [undefined] : keys) {
        const { answer, expected, shown } = await sendExample(operationId, key);
        expect([operationId, key, answer.status, answer.text]).toEqual([operationId, key, expected, answer.text]);
        expect(shown === undefined ? {} : kindOf(answer.body)).toEqual(shown === undefined ? {} : kindOf(shown));
      }
    }
  });

  test("a request that comes again, a stranger, another verb and too many requests get the headers that are shown", async () => {
    const again = await sendExample("sendMessage", "accepted");
    expect([again.answer.status, again.answer.headers.get("idempotency-replayed")]).toEqual([202, "true"]);
    const stranger = await send("/v1/tools");
    expect([stranger.status, stranger.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="turnpike"']);
    const verb = await send("/v1/tools", { method: "DELETE", token: assistant });
    expect([verb.status, verb.headers.get("allow")]).toEqual([405, "GET"]);
    // Each evaluation counts as a request, so these use up half a minute of the rate, however slow the machine is.
    const evaluations = Array.from({ length: 256 }, () => ({}));
    const json = { "content-type": "application/json" };
    const many = { token: alice, headers: json, body: { evaluations } };
    await Promise.all(Array.from({ length: 8 }, () => send("/access/v1/evaluations", many)));
    const refused = await send("/v1/tools", { token: alice });
    expect([refused.status, Number(refused.headers.get("retry-after")) > 1]).toEqual([429, true]);
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const initialized = await send("/mcp", {
      token: assistant,
      headers: { ...json, accept: "application/json, text/event-stream" },
      body: { jsonrpc: "2.0", id: 1, method: "initialize", params },
    });
    expect(initialized.headers.get("mcp-session-id")).toMatch(/^[\da-f-]{36}$/);
  });

  test("every request of an operator is answered with the status that is shown", async () => {
    const names = [...operations.values()].filter(({ tags }) => tags.includes("operators"));
    expect(Object.keys(adminExamples).toSorted()).toEqual(names.map(({ operationId }) => operationId).toSorted());
    for (const name of Object.keys(adminExamples)) {
      const key = operations.get(name)?.requestBody === undefined ? undefined : "demo";
      const { answer, expected } = await sendExample(name, key);
      const wanted = notInDemo.has(name) ? 404 : expected;
      expect([name, answer.status, answer.text]).toEqual([name, wanted, answer.text]);
    }
  });

  test("every header that the description has came with some answer", () => {
    const described = [...operations.values()].flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ $ref, headers = {} }) => {
        const shared = description.components.responses[$ref?.split("/").at(-1) ?? ""];
        return Object.keys(shared?.headers ?? headers);
      }),
    );
    const missing = new Set(described.filter((name) => !seen.has(name)));
    expect(missing).toEqual(notInDemoHeaders);
  });
});
