import { expect, test } from "vitest";
import { answerOf, errorAnswer, exchanges, httpWorldOf, requestFor, withBody, type Exchange } from "../../test/http.ts";
import { contextOf } from "../../test/deployment.ts";
import { readJsonBody } from "./read-body.ts";

async function sendingBody(exchange: Pick<Exchange, "method" | "path">, body: unknown): ReturnType<typeof answerOf> {
  const { handler, told } = httpWorldOf();
  const answer = await answerOf(await handler(requestFor({ ...exchange, body })));
  expect(told).toHaveLength(answer.status === 200 ? 0 : 1);
  return answer;
}

const notJson: { name: string; body: string | Uint8Array | undefined }[] = [
  { name: "no body", body: undefined },
  { name: "an empty body", body: "" },
  { name: "white space", body: " \n" },
  { name: "words", body: "please" },
  { name: "an unfinished object", body: '{"action":"read"' },
  { name: "a trailing comma", body: '{"action":"read",}' },
  { name: "two documents", body: "{}{}" },
  { name: "a comment", body: "{} // nothing" },
  { name: "single quotes", body: "{'action':'read'}" },
  { name: "NaN", body: "NaN" },
  { name: "a bare control character in a string", body: '"\u0001"' },
  { name: "invalid UTF-8", body: new Uint8Array([0x22, 0xff, 0x22]) },
  { name: "half a character of UTF-8", body: new Uint8Array([0x22, 0xe2, 0x82, 0x22]) },
  { name: "UTF-16", body: new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]) },
];
for (const { method, path } of withBody) {
  for (const { name, body } of notJson) {
    test(`${method} ${path} with ${name} is invalid_json`, async () => {
      const answer = await sendingBody({ method, path }, body);
      expect(answer).toStrictEqual(errorAnswer(400, "invalid_json", "The body is not JSON."));
    });
  }
}

for (const { method, path, body } of withBody) {
  for (const key of ["context", "tools", "grants", "authority", "constructor", "a/b~c"]) {
    test(`${method} ${path} with a body that brings ${key} is invalid_request`, async () => {
      const answer = await sendingBody({ method, path }, { ...body, [key]: contextOf() });
      const pointer = key === "a/b~c" ? "/a~1b~0c" : `/${key}`;
      expect(answer).toStrictEqual(errorAnswer(400, "invalid_request", `${pointer}: expected no such key`));
    });
  }

  for (const text of ["null", "true", "1", '"text"', "[]", "[{}]"]) {
    test(`${method} ${path} with ${text} instead of an object is invalid_request`, async () => {
      const answer = await sendingBody({ method, path }, text);
      expect(answer).toStrictEqual(errorAnswer(400, "invalid_request", "(root): expected object"));
    });
  }

  test(`${method} ${path} with __proto__ is invalid_request and pollutes nothing`, async () => {
    const text = JSON.stringify(body).replace("{", '{"__proto__":{"polluted":true},');
    const answer = await sendingBody({ method, path }, text);
    expect(answer).toStrictEqual(errorAnswer(400, "invalid_request", "(root): expected no __proto__ key"));
    expect("polluted" in {}).toBe(false);
  });
}

/** `{"a":{"a":...}}` around the text, so many levels deep. */
function nested(levels: number, innermost: string): string {
  return `${'{"a":'.repeat(levels)}${innermost}${"}".repeat(levels)}`;
}

for (const row of [
  { place: "/arguments/note/deep", note: '{"deep":{"__proto__":{}}}' },
  { place: "/arguments/note/0/1", note: '[[1,{"__proto__":1}]]' },
  { place: "/arguments/note", note: '{"ordinary":1,"__proto__":null}' },
  { place: "/arguments/note/a/a/a/a/a/a/a/a", note: nested(8, '{"__proto__":[]}') },
  { place: "/arguments/note", note: '{"\\u005f_proto__":{}}' },
]) {
  test(`a __proto__ key at ${row.place} is invalid_request, spelt ${row.note}`, async () => {
    const text = JSON.stringify(exchanges.invokeTool.body).replace('"today"', row.note);
    expect(await sendingBody(exchanges.invokeTool, text)).toStrictEqual(
      errorAnswer(400, "invalid_request", `${row.place}: expected no __proto__ key`),
    );
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
}

test("a __proto__ value that is only text is text", async () => {
  const body = { ...exchanges.invokeTool.body, arguments: { note: "__proto__" } };
  const { body: answer } = await sendingBody(exchanges.invokeTool, body);
  expect(answer).toMatchObject({ status: "succeeded", output: "text of __proto__" });
});

// The body is the first level, so `input` has 63 left.
for (const row of [
  { levels: 64, inner: 63, status: 200 },
  { levels: 65, inner: 64, status: 400 },
  { levels: 10_000, inner: 9_999, status: 400 },
]) {
  for (const kind of ["objects", "lists"]) {
    test(`a body of ${row.levels} levels of ${kind} answers ${row.status}`, async () => {
      const input = kind === "objects" ? nested(row.inner, "1") : `${"[".repeat(row.inner)}1${"]".repeat(row.inner)}`;
      const text = JSON.stringify(exchanges.invokeResource.body).replace('{"text":"eggs"}', input);
      const { status, body } = await sendingBody(exchanges.invokeResource, text);
      const step = kind === "objects" ? "/a" : "/0";
      const place = `/input${step.repeat(63)}`;
      const shown = place.length > 120 ? `${place.slice(0, 120)}...` : place;
      const message = `${shown}: expected at most 64 levels of nesting`;
      expect({ status, body }).toStrictEqual({
        status: row.status,
        body:
          row.status === 200
            ? { ...exchanges.invokeResource.answer, output: JSON.parse(input) }
            : { error: { code: "invalid_request", message, requestId: "request-1" } },
      });
    });
  }
}

const secret = "s3cret";
const misfits: (Pick<Exchange, "method" | "path" | "body"> & { message: string })[] = [
  { ...exchanges.authorize, body: {}, message: "/action: expected string; /resource: expected object" },
  {
    ...exchanges.authorize,
    body: { action: "", resource: { namespace: secret, path: secret } },
    message: "/action: expected 1 or more characters; /resource/path: expected array",
  },
  {
    ...exchanges.authorize,
    body: { action: "read", resource: { namespace: "files", path: ["ok", `${secret}/..`, ".."] } },
    message:
      "/resource/path/1: expected a path segment: no slash, backslash or control character, not . or ..; " +
      "/resource/path/2: expected a path segment: no slash, backslash or control character, not . or ..",
  },
  {
    ...exchanges.authorize,
    body: { action: "a".repeat(129), resource: { namespace: "files", path: Array.from({ length: 65 }, () => "x") } },
    message: "/action: expected at most 128 characters; /resource/path: expected at most 64 elements",
  },
  {
    ...exchanges.updateToolNamespaces,
    body: { enable: ["a", secret], disable: [secret] },
    message: "/disable: expected no name that is also in enable",
  },
  {
    ...exchanges.updateToolNamespaces,
    body: { enable: Array.from({ length: 257 }, (_, index) => `n${index}`) },
    message: "/enable: expected at most 256 elements",
  },
  {
    ...exchanges.updateToolNamespaces,
    body: { enable: [" "], disable: [1, ""] },
    message:
      "/enable/0: expected more than white space; /disable/0: expected string; /disable/1: expected 1 or more characters",
  },
  {
    ...exchanges.invokeTool,
    body: { ...exchanges.invokeTool.body, arguments: [secret], requestedAt: secret, id: 7 },
    message:
      "/id: expected string; /arguments: expected object; /requestedAt: expected an RFC 3339 date-time with an offset",
  },
  {
    ...exchanges.invokeResource,
    body: { ...exchanges.invokeResource.body, metadata: secret, a: 1, b: 2, c: 3 },
    message: "/metadata: expected object; /a: expected no such key; /b: expected no such key; and 1 more",
  },
  {
    ...exchanges.sendMessage,
    body: { ...exchanges.sendMessage.body, version: 2, sender: { kind: secret } },
    message: '/version: expected 1 or "1"; /sender/kind: expected "human" or "agent" or "group" or "service"',
  },
  {
    ...exchanges.sendMessage,
    body: { ...exchanges.sendMessage.body, receiver: { kind: "human", userId: "bob", admin: secret } },
    message: "/receiver/admin: expected no such key",
  },
  {
    ...exchanges.sendMessage,
    body: JSON.stringify(exchanges.sendMessage.body).replace('"hello"', '{"n":[1,1e999]}'),
    message: "/payload/n/1: expected a finite number",
  },
  {
    ...exchanges.invokeTool,
    body: JSON.stringify(exchanges.invokeTool.body).replace('"today"', "9007199254740993"),
    message:
      "/arguments/note: expected a whole number from -9007199254740991 to 9007199254740991; send any other as a string",
  },
  {
    ...exchanges.invokeResource,
    body: JSON.stringify(exchanges.invokeResource.body).replace('{"text":"eggs"}', '{"list":[0,[-1e-999]]}'),
    message: "/input/list/1/0: expected a number that is not rounded to 0; send it as a string",
  },
  {
    ...exchanges.executeTurn,
    body: { ...exchanges.executeTurn.body, options: { maxSteps: 0, maxToolCalls: 10_001, timeoutMs: 600_001 } },
    message:
      "/options/maxSteps: expected 1 or more; /options/maxToolCalls: expected at most 10000; /options/timeoutMs: expected at most 600000",
  },
  {
    ...exchanges.executeTurn,
    body: { ...exchanges.executeTurn.body, options: { maxSteps: 1.5, runtime: secret } },
    message: "/options/maxSteps: expected int; /options/runtime: expected no such key",
  },
  {
    ...exchanges.executeTurn,
    body: { ...exchanges.executeTurn.body, agent: { kind: "human", userId: secret } },
    message: '/agent/kind: expected "agent"; /agent/agentId: expected string; /agent/userId: expected no such key',
  },
];
for (const { message, ...exchange } of misfits) {
  test(`${exchange.method} ${exchange.path} says "${message}"`, async () => {
    const answer = await sendingBody(exchange, exchange.body);
    expect(answer).toStrictEqual(errorAnswer(400, "invalid_request", message));
    expect(JSON.stringify(answer)).not.toContain(secret);
  });
}

test("a number with an exponent reaches the tool as the number that it is", async () => {
  const text = JSON.stringify(exchanges.invokeResource.body).replace('{"text":"eggs"}', "[1e21,-9007199254740991,0e5]");
  const { status, body } = await sendingBody(exchanges.invokeResource, text);
  expect({ status, body }).toMatchObject({ status: 200, body: { output: [1e21, -9007199254740991, 0] } });
});

test("the last of two equal keys wins, as in JSON.parse", async () => {
  const text = JSON.stringify(exchanges.invokeTool.body).replace('{"note":', '{"note":"yesterday","note":');
  const { body } = await sendingBody(exchanges.invokeTool, text);
  expect(body).toMatchObject({ output: "text of today" });
});

test("an empty patch is a legal no-op", async () => {
  expect(await sendingBody(exchanges.updateToolNamespaces, {})).toMatchObject({
    status: 200,
    body: exchanges.listToolNamespaces.answer,
  });
});

test("a body that is not needed is not read", async () => {
  const { handler } = httpWorldOf();
  const request = requestFor({ method: "PUT", path: "/v1/reach", body: "not JSON" });
  expect((await handler(request)).status).toBe(405);
  expect(request.bodyUsed).toBe(false);
});

test("what reaches the api is the body, frozen to its last leaf", async () => {
  const seen: unknown[] = [];
  const { handler } = httpWorldOf({
    api: {
      invokeTool(_context, call) {
        seen.push(call);
        return Promise.resolve(exchanges.invokeTool.answer);
      },
    },
  });
  const body = { ...exchanges.invokeTool.body, arguments: { list: [{ deep: 1 }] } };
  await handler(requestFor({ ...exchanges.invokeTool, body }));
  expect(seen).toStrictEqual([body]);
  const [call] = seen as [typeof body];
  const parts = [call, call.arguments, call.arguments.list, call.arguments.list[0]];
  expect(parts.map((part) => Object.isFrozen(part))).toStrictEqual([true, true, true, true]);
});

test("a host's own reader may hand the bytes over as they are, and they are checked like any other", async () => {
  const bytesOf = (text: string) => ({ bytes: () => Promise.resolve(new TextEncoder().encode(text)) });
  expect(await readJsonBody(bytesOf('{"a":[1,"ä"]}'))).toEqual({ a: [1, "ä"] });
  await expect(readJsonBody(bytesOf("please"))).rejects.toMatchObject({ status: 400, code: "invalid_json" });
  await expect(readJsonBody(bytesOf("[".repeat(1000) + "]".repeat(1000)))).rejects.toMatchObject({
    status: 400,
    code: "invalid_request",
  });
});
