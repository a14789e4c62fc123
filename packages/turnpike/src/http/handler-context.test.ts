import { expect, test } from "vitest";
import {
  answerOf,
  errorAnswer,
  exchanges,
  httpWorldOf,
  jsonHeaders,
  requestFor,
  type Exchange,
} from "../../test/http.ts";
import { contextOf, untyped } from "../../test/deployment.ts";
import type { AccessContext } from "../contracts/index.ts";
import { ServiceHttpError } from "./service-http-error.ts";

const { health: _open, ...guarded } = exchanges;
const invalid = errorAnswer(500, "invalid_access_context", "No valid access context could be resolved.");

function without(key: keyof AccessContext): AccessContext {
  return untyped(Object.fromEntries(Object.entries(contextOf()).filter(([name]) => name !== key)));
}

const strangers: Pick<Exchange, "method" | "path" | "body">[] = [
  ...Object.values(guarded),
  { method: "GET", path: "/v1/nothing" },
  { method: "GET", path: "/" },
  { method: "POST", path: "/health" },
  { method: "DELETE", path: "/v1/tools" },
  { method: "POST", path: "/v1/authorize", body: "not JSON" },
  { method: "POST", path: "/v1/turns", body: { context: contextOf() } },
];
for (const exchange of strangers) {
  const { method, path } = exchange;
  test(`a caller who is not admitted learns nothing from ${method} ${path} with ${JSON.stringify(exchange.body)}`, async () => {
    const { handler, events } = httpWorldOf({
      context: () => Promise.reject(new ServiceHttpError(401, "who_are_you", "Say who you are.")),
    });
    const request = requestFor(exchange);
    expect(await answerOf(await handler(request))).toStrictEqual(errorAnswer(401, "who_are_you", "Say who you are."));
    expect([request.bodyUsed, events]).toStrictEqual([false, []]);
  });
}

for (const [name, exchange] of Object.entries<Exchange>(guarded)) {
  test(`${name} gets the context of the very request, which is resolved once`, async () => {
    const { handler, resolved } = httpWorldOf();
    const request = requestFor(exchange);
    expect((await handler(request)).status).toBe(exchange.status);
    expect(resolved).toStrictEqual([request]);
    expect(resolved[0]).toBe(request);
  });
}

for (const row of [
  { name: "reach", needsAuthority: false },
  { name: "listTools", needsAuthority: false },
  { name: "listToolNamespaces", needsAuthority: false },
  { name: "authorize", needsAuthority: true },
  { name: "updateToolNamespaces", needsAuthority: true },
  { name: "invokeTool", needsAuthority: true },
  { name: "invokeResource", needsAuthority: true },
  { name: "sendMessage", needsAuthority: true },
  { name: "executeTurn", needsAuthority: true },
] as const) {
  const { method, path, answer } = exchanges[row.name];
  for (const context of [without("authority"), { ...contextOf(), authority: untyped<undefined>(undefined) }]) {
    const form = "authority" in context ? "an undefined authority" : "no authority";
    test(`${method} ${path} with ${form} answers ${row.needsAuthority ? "invalid_access_context" : "its result"}`, async () => {
      const { handler, told, events } = httpWorldOf({ context: () => Promise.resolve(untyped(context)) });
      const request = requestFor(exchanges[row.name]);
      expect(await answerOf(await handler(request))).toStrictEqual(
        row.needsAuthority ? invalid : { status: 200, headers: jsonHeaders, body: answer },
      );
      expect(told).toHaveLength(row.needsAuthority ? 1 : 0);
      expect([request.bodyUsed, events.length]).toStrictEqual([false, row.needsAuthority ? 0 : 1]);
    });
  }
}

const contexts: { name: string; value: unknown; place: string }[] = [
  { name: "nothing", value: undefined, place: "(root)" },
  { name: "null", value: null, place: "(root)" },
  { name: "text", value: "alice", place: "(root)" },
  { name: "a list", value: [contextOf()], place: "(root)" },
  { name: "no actor", value: without("actor"), place: "/actor" },
  { name: "no namespaces", value: without("enabledToolNamespaces"), place: "/enabledToolNamespaces" },
  { name: "no namespaceId", value: without("namespaceId"), place: "/namespaceId" },
  { name: "no now", value: without("now"), place: "/now" },
  { name: "no owner", value: without("owner"), place: "/owner" },
  { name: "no purpose", value: without("purpose"), place: "/purpose" },
  { name: "no traceId", value: without("traceId"), place: "/traceId" },
  { name: "a key too many", value: { ...contextOf(), grants: [] }, place: "/grants" },
  { name: "a date for now", value: { ...contextOf(), now: new Date(0) }, place: "/now" },
  { name: "a local time for now", value: contextOf({ now: "2026-01-01T12:00:00" }), place: "/now" },
  { name: "null for an authority", value: { ...contextOf(), authority: null }, place: "/authority" },
  { name: "a purpose that is too long", value: contextOf({ purpose: "p".repeat(513) }), place: "/purpose" },
  {
    name: "257 namespaces",
    value: contextOf({ enabledToolNamespaces: Array.from({ length: 257 }, (_, index) => `n${index}`) }),
    place: "/enabledToolNamespaces",
  },
];
for (const { name, value, place } of contexts) {
  for (const exchange of [exchanges.listTools, exchanges.authorize, { method: "GET", path: "/v1/nothing" }]) {
    test(`${exchange.method} ${exchange.path} in a context with ${name} answers invalid_access_context`, async () => {
      const { handler, told } = httpWorldOf({ context: () => Promise.resolve(untyped(value)) });
      expect(await answerOf(await handler(requestFor(exchange)))).toStrictEqual(invalid);
      expect(told).toHaveLength(1);
      // The caller is told nothing; the operator is told where.
      const [error] = told.map((each) => each.error as Error);
      expect(String(error?.cause)).toContain(` ${place}: `);
    });
  }
}

test("256 namespaces, some of them twice, are a legal context", async () => {
  const names = Array.from({ length: 254 }, (_, index) => `n${index}`);
  const context = contextOf({ enabledToolNamespaces: [...names, "files", "files"] });
  const { handler } = httpWorldOf({ context: () => Promise.resolve(context) });
  expect((await answerOf(await handler(requestFor(exchanges.listTools)))).body).toStrictEqual(
    exchanges.listTools.answer,
  );
});

for (const name of ["authorize", "executeTurn", "reach"] as const) {
  test(`what ${name} gets is a frozen copy, and the host's own context stays the host's`, async () => {
    const seen: AccessContext[] = [];
    const capture = (context: unknown): Promise<never> => {
      seen.push(context as AccessContext);
      return Promise.resolve(untyped<never>({}));
    };
    const own = structuredClone(contextOf());
    const { handler } = httpWorldOf({ api: { [name]: capture }, context: () => Promise.resolve(own) });
    await handler(requestFor(exchanges[name]));
    own.enabledToolNamespaces.push("mail");

    const [context] = seen;
    expect(context).toStrictEqual(contextOf());
    const parts = [context, context?.actor, context?.authority, context?.owner, context?.enabledToolNamespaces];
    expect(parts.map((part) => Object.isFrozen(part))).toStrictEqual([true, true, true, true, true]);
    expect([Object.isFrozen(own), Object.isFrozen(own.actor)]).toStrictEqual([false, false]);
  });
}

for (const [name, exchange] of Object.entries<Exchange>(guarded)) {
  test(`${name} reads a context once, so that it cannot change its mind`, async () => {
    const reads = new Map<string, number>();
    const changing = {};
    for (const [key, value] of Object.entries(contextOf())) {
      const get = (): unknown => {
        reads.set(key, (reads.get(key) ?? 0) + 1);
        return reads.get(key) === 1 ? value : "changed";
      };
      Object.defineProperty(changing, key, { enumerable: true, get });
    }
    const { handler } = httpWorldOf({ context: () => Promise.resolve(untyped(changing)) });
    expect(await answerOf(await handler(requestFor(exchange)))).toMatchObject({ status: 200, body: exchange.answer });
    expect([...reads.values()]).toStrictEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  });
}
