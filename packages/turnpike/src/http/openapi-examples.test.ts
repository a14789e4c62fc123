import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { operationOf, type OpenApi } from "../../test/openapi.ts";
import { answerOf, now } from "../../test/openapi-examples.ts";
import { RequestErrorSchema, routes, TurnStateSchema, type RouteName } from "../contracts/index.ts";
import { openApiDocument } from "./openapi.ts";
import { errorExamples, operationExamples } from "./openapi-examples.ts";

const document = openApiDocument() as OpenApi;

beforeAll(() => vi.useFakeTimers({ now: new Date(now), toFake: ["Date"] }));
afterAll(() => vi.useRealTimers());

for (const [name, examples] of Object.entries(operationExamples) as [
  RouteName,
  (typeof operationExamples)[RouteName],
][]) {
  const { method, path, response: schema, ...route } = routes[name];
  for (const [key, { path: asked = path, prefer, request, status, response }] of Object.entries(examples)) {
    const answered = name === "executeTurn" && status === 202 ? TurnStateSchema : schema;
    const body = request === undefined ? undefined : JSON.stringify(request);

    test(`${name}: "${key}" is what the handler answers, and fits its schema`, async () => {
      const answer = await answerOf(`${name} ${key}`, { method, path: asked, body, prefer });
      expect({ status: answer.status, response: await answer.json() }).toStrictEqual({ status, response });
      expect(answered.safeParse(response).error).toBeUndefined();
      expect("request" in route ? route.request.safeParse(request).error : request).toBeUndefined();
    });

    test(`${name}: "${key}" is in the document`, () => {
      const { requestBody, responses } = operationOf(document, name);
      expect(requestBody?.content["application/json"]?.examples[key]?.value).toStrictEqual(request);
      expect(responses[status]?.content?.["application/json"]?.examples[key]?.value).toStrictEqual(response);
    });
  }
}

const streams = Object.entries(operationExamples.executeTurn).filter(([, { status }]) => status === 200);
for (const [key, { request }] of streams) {
  test(`executeTurn: "${key}" streams as the document shows it`, async () => {
    const body = JSON.stringify(request);
    const answer = await answerOf(`executeTurn ${key}`, {
      method: "POST",
      path: "/v1/turns",
      body,
      accept: "text/event-stream",
    });
    const shown = operationOf(document, "executeTurn").responses["200"]?.content?.["text/event-stream"]?.examples[key]
      ?.value;
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(await answer.text()).toBe(shown);
  });
}

for (const [key, { path }] of Object.entries(operationExamples.listTurnEvents)) {
  test(`listTurnEvents: "${key}" streams as the document shows it`, async () => {
    const accept = "text/event-stream";
    const answer = await answerOf(`listTurnEvents ${key}`, { method: "GET", path: path ?? "", accept });
    const { content } = operationOf(document, "listTurnEvents").responses["200"] ?? {};
    expect(await answer.text()).toBe(content?.["text/event-stream"]?.examples[key]?.value);
  });
}

test("a turn that runs without its caller answers with where it is", async () => {
  const { request, prefer } = operationExamples.executeTurn["async"] ?? {};
  const body = JSON.stringify(request);
  const { headers } = await answerOf("executeTurn async", { method: "POST", path: "/v1/turns", body, prefer });
  expect([headers.get("location"), headers.get("preference-applied")]).toEqual(["/v1/turns/turn-4", "respond-async"]);
});

for (const [code, example] of Object.entries(errorExamples)) {
  test(`the error "${code}" is what the handler answers, and fits its schema`, async () => {
    const answer = await answerOf(code, example);
    expect({ status: answer.status, response: await answer.json() }).toStrictEqual({
      status: example.status,
      response: example.response,
    });
    expect(RequestErrorSchema.safeParse(example.response).error).toBeUndefined();
    expect(answer.headers.get("allow")).toBe(code === "method_not_allowed" ? "GET, PUT" : null);
  });
}

test("HEAD /health answers as the document says: the headers of GET and no body", async () => {
  const answer = await answerOf("health head", { method: "HEAD", path: "/health" });
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toEqual({
    "cache-control": "no-store",
    "content-type": "application/json",
    "x-request-id": "request-1",
  });
  expect(await answer.text()).toBe("");
});

test("the document shows every error, and no example besides those that are tested here", () => {
  const errors = Object.values(errorExamples).map(({ response }) => response);
  const operations = Object.values(operationExamples).flatMap((examples) => Object.values(examples));
  const streamed = (["executeTurn", "listTurnEvents"] as const).flatMap((name) =>
    Object.values(operationOf(document, name).responses["200"]?.content?.["text/event-stream"]?.examples ?? {}),
  );
  const tested = [
    ...errors,
    ...operations.flatMap(({ request, response }) => (request === undefined ? [response] : [request, response])),
    ...streamed.map(({ value }) => value),
  ];
  expect(asTexts(examplesIn(document))).toEqual(asTexts(tested));
});

/** Each value once, as JSON. */
function asTexts(values: unknown[]): string[] {
  return [...new Set(values.map((value) => JSON.stringify(value)))].toSorted();
}

/** The value of every example object in the document. */
function examplesIn(part: unknown): unknown[] {
  if (typeof part !== "object" || part === null) return [];
  const named = "examples" in part ? Object.values(part.examples as Record<string, { value: unknown }>) : [];
  const deeper = Object.entries(part).flatMap(([key, value]) => (key === "examples" ? [] : examplesIn(value)));
  return [...named.map(({ value }) => value), ...deeper];
}
