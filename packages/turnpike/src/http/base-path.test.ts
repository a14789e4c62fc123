import { describe, expect, test } from "vitest";
import { untyped } from "../../test/deployment.ts";
import {
  answerOf,
  errorAnswer,
  exchanges,
  httpWorldOf,
  jsonHeaders,
  requestFor,
  type Exchange,
} from "../../test/http.ts";
import { journaledWorldOf, turnRequest } from "../../test/journaled-turns.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const basePath = "/api/turnpike";
const notFound = errorAnswer(404, "not_found", "There is nothing at this path.");
const start = { method: "POST", path: "/api/turnpike/v1/turns", body: turnRequest("turn-1") };

for (const [name, exchange] of Object.entries<Exchange>(exchanges)) {
  test(`${name} is answered below a base path as it is without one`, async () => {
    const { handler } = httpWorldOf({ basePath });
    const answer = await answerOf(await handler(requestFor({ ...exchange, path: `${basePath}${exchange.path}` })));
    expect(answer).toStrictEqual({ status: exchange.status, headers: jsonHeaders, body: exchange.answer });
  });
}

for (const path of [
  "/",
  "/health",
  "/api",
  "/api/turnpike",
  "/api/turnpike/",
  "/api/turnpikeX/health",
  "/api/turnpikehealth",
  "/API/turnpike/health",
  "/api/turnpike//health",
  "//api/turnpike/health",
  "/x/api/turnpike/health",
  "/api/turnpike/api/turnpike/health",
  "/api%2Fturnpike/health",
  "/%61pi/turnpike/health",
  "/api/turnpike%2Fhealth",
  "/api/turnpike/../health",
]) {
  test(`${path} is outside of the base path, or nothing in it, and not found once the caller is known`, async () => {
    const { handler, resolved } = httpWorldOf({ basePath });
    expect(await answerOf(await handler(requestFor({ method: "GET", path })))).toStrictEqual(notFound);
    expect(resolved).toHaveLength(1);
  });
}

test("another verb below a base path is 405 with the verbs of the path", async () => {
  const { handler } = httpWorldOf({ basePath });
  const answer = await answerOf(await handler(requestFor({ method: "DELETE", path: "/api/turnpike/v1/tools" })));
  expect(answer).toStrictEqual(errorAnswer(405, "method_not_allowed", "This path knows GET.", { allow: "GET" }));
});

test("HEAD of the health is answered below a base path without a context", async () => {
  const { handler, resolved } = httpWorldOf({ basePath });
  const response = await handler(requestFor({ method: "HEAD", path: "/api/turnpike/health" }));
  expect([response.status, resolved]).toEqual([200, []]);
});

describe("a turn below a base path", () => {
  for (const { name, headers, status } of [
    { name: "plain", headers: {}, status: 202 },
    { name: "streamed", headers: { accept: "text/event-stream" }, status: 200 },
  ]) {
    test(`has its prefix in its location, and is found there: ${name}`, async () => {
      const id = "a/b?c%2F ä";
      const { handler } = journaledWorldOf({ basePath });
      const request = { ...start, body: turnRequest(id) };
      const response = await handler(requestFor(request, { headers: { prefer: "respond-async", ...headers } }));
      const location = response.headers.get("location") ?? "";
      expect([response.status, location]).toEqual([status, "/api/turnpike/v1/turns/a%2Fb%3Fc%252F%20%C3%A4"]);
      await response.body?.cancel();
      const found = await answerOf(await handler(requestFor({ method: "GET", path: location })));
      expect(found.body).toMatchObject({ executionId: id, status: "running" });
    });
  }

  test("is listed, followed and cancelled there, and its query is read", async () => {
    const { handler } = journaledWorldOf({ basePath });
    await handler(requestFor(start, { headers: { prefer: "respond-async" } }));
    const answered = async (method: string, path: string) =>
      answerOf(await handler(requestFor({ method, path: `${basePath}${path}` })));
    expect((await answered("GET", "/v1/turns?status=running&limit=1")).body).toMatchObject({
      turns: [{ executionId: "turn-1" }],
    });
    expect((await answered("GET", "/v1/turns?limit=0")).status).toBe(400);
    expect((await answered("GET", "/v1/turns/turn-1/events?after=-1")).body).toEqual({ events: [] });
    expect((await answered("POST", "/v1/turns/turn-1/cancel")).status).toBe(202);
  });
});

test("a location that the host sends with a refusal stays as it is", async () => {
  const refusal = new ServiceHttpError(403, "blocked", "Sign in first.", { headers: { location: "/sign-in" } });
  const { handler } = httpWorldOf({ basePath, context: () => Promise.reject(refusal) });
  const { headers } = await handler(requestFor({ method: "GET", path: "/api/turnpike/v1/tools" }));
  expect(headers.get("location")).toBe("/sign-in");
});

for (const row of [
  { given: "/api/turnpike/", path: "/api/turnpike/health" },
  { given: "/a", path: "/a/health" },
  { given: "/a%20b/%C3%A4", path: "/a b/ä/health" },
  { given: "/~me/v1.2;x=1", path: "/~me/v1.2;x=1/health" },
  { given: "/", path: "/health" },
  { given: "", path: "/health" },
]) {
  test(`the base path ${JSON.stringify(row.given)} puts the health at ${row.path}`, async () => {
    const { handler } = httpWorldOf({ basePath: row.given });
    expect((await handler(requestFor({ method: "GET", path: row.path }))).status).toBe(200);
  });
}

for (const given of [
  "api",
  "api/turnpike",
  "//api",
  "/api//turnpike",
  "/api/turnpike//",
  "//",
  "/api/./turnpike",
  "/api/../turnpike",
  "/api/%2e%2e/turnpike",
  "/api?x",
  "/api#x",
  "/a b",
  "/ä",
  "/api\\turnpike",
  "/api\n",
  "/{tenant}",
  "https://turnpike.test/api",
  "//[",
  7,
]) {
  test(`the base path ${JSON.stringify(given)} is refused when the handler is made`, () => {
    expect(() => httpWorldOf({ basePath: untyped(given) })).toThrow(
      new TypeError(
        `basePath: expected a path as URLs write it, such as "/api/turnpike", and not ${JSON.stringify(given)}.`,
      ),
    );
  });
}
