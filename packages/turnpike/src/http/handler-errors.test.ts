import { expect, test } from "vitest";
import {
  answerOf,
  errorAnswer,
  exchanges,
  httpWorldOf,
  requestFor,
  type Answer,
  type HttpWorldOptions,
} from "../../test/http.ts";
import { deferred, fails, grantOf, portSecret, refusingAudit, untyped } from "../../test/deployment.ts";
import { ticks } from "../../test/turns.ts";
import { KernelError } from "../kernel/index.ts";
import { createServiceHandler } from "./handler.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const internal = errorAnswer(500, "internal_error", "Something failed inside; nothing more is said.");
const forbidden = errorAnswer(403, "permission_denied", "The host refused the request.");

/** Where an error can come from; whatever throws, throws it at once or later. */
const places: { name: string; throwing(error: unknown): HttpWorldOptions }[] = [
  { name: "resolveContext", throwing: (thrown) => ({ context: () => Promise.reject(thrown) }) },
  {
    name: "resolveContext at once",
    throwing: (error) => ({
      context() {
        throw error;
      },
    }),
  },
  { name: "the api", throwing: (thrown) => ({ api: { authorize: () => Promise.reject(thrown) } }) },
  {
    name: "the api at once",
    throwing: (error) => ({
      api: {
        authorize() {
          throw error;
        },
      },
    }),
  },
];

function hostError(status: number, headers?: Record<string, string>): ServiceHttpError {
  return new ServiceHttpError(status, "host_code", `because of ${portSecret}`, headers && { headers });
}

const passedOn = `because of ${portSecret}`;
const errors: { name: string; error: unknown; answer: Answer }[] = [
  ...[400, 401, 403, 404, 409, 418, 429, 499, 500, 503, 599].map((status) => ({
    name: `a ServiceHttpError of status ${status}`,
    error: hostError(status),
    answer: errorAnswer(status, "host_code", passedOn),
  })),
  ...[0, 100, 199, 200, 204, 302, 304, 399, 600, 1000, -1, 400.5, Number.NaN, Number.POSITIVE_INFINITY].map(
    (status) => ({
      name: `a ServiceHttpError of the nonsensical status ${status}`,
      error: hostError(status),
      answer: internal,
    }),
  ),
  { name: "a ServiceHttpError of a status in text", error: hostError(untyped("404")), answer: internal },
  {
    name: "a ServiceHttpError with headers",
    error: hostError(401, { "www-authenticate": 'Bearer realm="service"', "retry-after": "3" }),
    answer: errorAnswer(401, "host_code", passedOn, {
      "www-authenticate": 'Bearer realm="service"',
      "retry-after": "3",
    }),
  },
  {
    name: "a ServiceHttpError that restates our own headers",
    error: hostError(401, { "cache-control": "public", "content-type": "text/html", "x-request-id": "other" }),
    answer: errorAnswer(401, "host_code", passedOn),
  },
  {
    name: "a ServiceHttpError that restates our own headers in capitals",
    error: hostError(401, { "Cache-Control": "public", "Content-Type": "text/html", "X-Request-Id": "other" }),
    answer: errorAnswer(401, "host_code", passedOn),
  },
  {
    name: "a ServiceHttpError with our own code and another status",
    error: new ServiceHttpError(451, "not_found", "Not here."),
    answer: errorAnswer(451, "not_found", "Not here."),
  },
  {
    name: "a ServiceHttpError with a subclass",
    error: new (class extends ServiceHttpError {})(402, "pay_first", "Pay."),
    answer: errorAnswer(402, "pay_first", "Pay."),
  },
  { name: "a plain error", error: new Error(portSecret), answer: internal },
  { name: "a TypeError", error: new TypeError(portSecret), answer: internal },
  {
    name: "an error that only looks like a ServiceHttpError",
    error: Object.assign(new Error(portSecret), {
      name: "ServiceHttpError",
      status: 404,
      code: "host_code",
      headers: {},
    }),
    answer: internal,
  },
  { name: "text", error: portSecret, answer: internal },
  { name: "undefined", error: undefined, answer: internal },
  { name: "null", error: null, answer: internal },
  { name: "a number", error: 7, answer: internal },
  {
    name: "an AbortError that is not the caller's",
    error: new DOMException(portSecret, "AbortError"),
    answer: internal,
  },
  {
    name: "an error whose code is permission_denied",
    error: Object.assign(new Error(portSecret), { code: "permission_denied" }),
    answer: forbidden,
  },
  { name: "an object whose code is permission_denied", error: { code: "permission_denied" }, answer: forbidden },
  {
    name: "an error whose code is another",
    error: Object.assign(new Error(portSecret), { code: "EACCES" }),
    answer: internal,
  },
  {
    name: "a KernelError that is no request-level error",
    error: new KernelError("tool_unavailable"),
    answer: internal,
  },
  {
    name: "a KernelError that is a request-level error",
    error: new KernelError("authority_unavailable", { cause: new Error(portSecret) }),
    answer: errorAnswer(503, "authority_unavailable", "The grants could not be read or cannot be trusted."),
  },
];
for (const place of places) {
  for (const { name, error, answer } of errors) {
    test(`${name}, thrown by ${place.name}, answers ${answer.status}`, async () => {
      const { handler, told } = httpWorldOf(place.throwing(error));
      const request = requestFor(exchanges.authorize);
      expect(await answerOf(await handler(request))).toStrictEqual(answer);
      expect(told).toHaveLength(1);
      expect(told[0]?.error).toBe(error);
      expect(told[0]?.request).toBe(request);
      expect(told[0]?.requestId).toBe("request-1");
    });
  }
}

test("a ServiceHttpError whose headers cannot be sent still gets an answer", async () => {
  const { handler } = httpWorldOf({ context: () => Promise.reject(hostError(401, { "x-note": "two\nlines" })) });
  const { status, body } = await answerOf(await handler(requestFor(exchanges.authorize)));
  expect([401, 500]).toContain(status);
  expect(body).toMatchObject({ error: { requestId: "request-1" } });
});

for (const row of [
  { name: "a cycle", result: cycle },
  { name: "a bigint", result: () => ({ allowed: 1n }) },
  { name: "nothing", result: () => undefined },
]) {
  test(`a result with ${row.name}, which is no JSON, answers internal_error`, async () => {
    const { handler, told } = httpWorldOf({ api: { authorize: () => Promise.resolve(untyped(row.result())) } });
    expect(await (await handler(requestFor(exchanges.authorize))).text()).toBe(JSON.stringify(internal.body));
    expect(told).toHaveLength(1);
  });
}

function cycle(): object {
  const one: { other?: object } = {};
  one.other = one;
  return one;
}

const { listTools, listToolNamespaces, updateToolNamespaces } = exchanges;
const outage: HttpWorldOptions = { kernel: { source: { load: fails } } };
const noAuditLog: HttpWorldOptions = { kernel: { audit: refusingAudit(() => true) } };
const auditUnavailable = errorAnswer(
  503,
  "audit_unavailable",
  "The decision could not be recorded, so nothing was done.",
);
const authorityUnavailable = errorAnswer(
  503,
  "authority_unavailable",
  "The grants could not be read or cannot be trusted.",
);
for (const row of [
  {
    name: "a patch without a settings store",
    exchange: updateToolNamespaces,
    options: { kernel: untyped<HttpWorldOptions["kernel"] & object>({ namespaceSettings: undefined }) },
    answer: errorAnswer(
      501,
      "namespace_settings_not_configured",
      "This deployment has no store for tool namespace settings.",
    ),
  },
  {
    name: "a patch on a settings store that is down",
    exchange: updateToolNamespaces,
    options: { kernel: { namespaceSettings: { applyUpdate: fails } } },
    answer: errorAnswer(503, "namespace_settings_unavailable", "The store for tool namespace settings did not answer."),
  },
  {
    name: "a patch that cannot be recorded",
    exchange: updateToolNamespaces,
    options: noAuditLog,
    answer: auditUnavailable,
  },
  {
    name: "namespaces that cannot be recorded",
    exchange: listToolNamespaces,
    options: noAuditLog,
    answer: auditUnavailable,
  },
  { name: "tools that cannot be recorded", exchange: listTools, options: noAuditLog, answer: auditUnavailable },
  { name: "tools without a grant source", exchange: listTools, options: outage, answer: authorityUnavailable },
  {
    name: "tools without a usage store that counts",
    exchange: listTools,
    options: {
      kernel: {
        grants: [grantOf("bounded", { constraints: { maxUses: 1 } })],
        usage: { used: fails, consume: fails },
      },
    },
    answer: authorityUnavailable,
  },
]) {
  test(`${row.name} answers ${row.answer.status}, never an empty list`, async () => {
    const { handler, told } = httpWorldOf(row.options);
    const answer = await answerOf(await handler(requestFor(row.exchange)));
    expect(answer).toStrictEqual(row.answer);
    expect(JSON.stringify(answer)).not.toContain(portSecret);
    expect(told).toHaveLength(1);
    expect(told[0]?.error).toBeInstanceOf(KernelError);
  });
}

for (const row of [
  { name: "throws", onError: () => fails() },
  {
    name: "throws at once",
    onError() {
      throw new Error(portSecret);
    },
  },
  { name: "returns nonsense", onError: () => untyped<undefined>(new Response("other")) },
]) {
  test(`an onError that ${row.name} changes nothing`, async () => {
    const { handler, told } = httpWorldOf({ context: () => Promise.reject(hostError(418)), onError: row.onError });
    const answer = await answerOf(await handler(requestFor(exchanges.authorize)));
    expect(answer).toStrictEqual(errorAnswer(418, "host_code", passedOn));
    expect(told).toHaveLength(1);
  });
}

test("a handler without onError answers all the same", async () => {
  const handler = createServiceHandler({ api: untyped({}), resolveContext: () => Promise.reject(hostError(418)) });
  const answer = await answerOf(await handler(requestFor(exchanges.authorize)));
  expect(answer).toStrictEqual(errorAnswer(418, "host_code", passedOn));
});

test("the answer waits for onError", async () => {
  const written = deferred<void>();
  const { handler } = httpWorldOf({ context: () => Promise.reject(hostError(418)), onError: () => written.promise });
  let isAnswered = false;
  const answering = handler(requestFor(exchanges.authorize)).then((response) => {
    isAnswered = true;
    return response;
  });
  await ticks(100);
  expect(isAnswered).toBe(false);
  written.resolve();
  expect((await answering).status).toBe(418);
});

test("a ServiceHttpError says what it was given", () => {
  const cause = new Error("root");
  const error = new ServiceHttpError(401, "who_are_you", "Say who you are.", {
    cause,
    headers: { "retry-after": "1" },
  });
  const { name, status, code, message, headers } = error;
  expect({ name, status, code, message, headers, cause: error.cause }).toStrictEqual({
    name: "ServiceHttpError",
    status: 401,
    code: "who_are_you",
    message: "Say who you are.",
    headers: { "retry-after": "1" },
    cause,
  });
  expect(error).toBeInstanceOf(Error);
  expect("cause" in new ServiceHttpError(401, "who_are_you", "Say who you are.")).toBe(false);
});

/** Bodies that name another trace than their request, with the header that would make them agree. */
const mismatches: { name: string; exchange: keyof typeof exchanges; changes: object; headers: string[] }[] = [
  { name: "a call of another trace", exchange: "invokeTool", changes: { traceId: "trace-9" }, headers: ["x-trace-id"] },
  {
    name: "a message of another trace",
    exchange: "sendMessage",
    changes: { traceId: "trace-9" },
    headers: ["x-purpose", "x-trace-id"],
  },
  {
    name: "a turn whose message is of another trace",
    exchange: "executeTurn",
    changes: { message: { ...exchanges.executeTurn.body.message, traceId: "trace-9" } },
    headers: ["x-purpose", "x-trace-id"],
  },
];

for (const { name, exchange, changes, headers } of mismatches) {
  test(`${name} is denied with the headers to send, and with no value that the caller did not send`, async () => {
    const { handler } = httpWorldOf();
    const sent = exchanges[exchange] as { method: string; path: string; body: object };
    const request = requestFor({ ...sent, body: { ...sent.body, ...changes } });
    const { status, body } = await answerOf(await handler(request));
    expect([status, (body as { status: string }).status]).toEqual([200, "denied"]);
    const { message } = (body as { error: { message: string } }).error;
    expect([...message.matchAll(/x-[\w-]+(?=: <)/g)].map(([header]) => header)).toEqual(headers);
    expect(message).not.toMatch(/trace-\d/);
  });
}
