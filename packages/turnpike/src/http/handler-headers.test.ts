import { expect, test } from "vitest";
import { exchanges, httpWorldOf, requestFor, type Exchange } from "../../test/http.ts";
import { untyped } from "../../test/deployment.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const aUuid: unknown = expect.stringMatching(uuid);

const ids: { name: string; id: string | undefined; isEchoed: boolean }[] = [
  { name: "of 1 character", id: "a", isEchoed: true },
  { name: "of 128 characters", id: "x".repeat(128), isEchoed: true },
  { name: "of 129 characters", id: "x".repeat(129), isEchoed: false },
  { name: "of the first and the last visible character", id: "!~", isEchoed: true },
  { name: "of quotes and commas", id: '"a",<b>;%00', isEchoed: true },
  { name: "with a space", id: "a b", isEchoed: false },
  { name: "with a tab", id: "a\tb", isEchoed: false },
  { name: "with spaces around it, which HTTP drops", id: "  a  ", isEchoed: true },
  { name: "with a delete character", id: "a\u007f", isEchoed: false },
  { name: "that is not ASCII", id: "\u00e9", isEchoed: false },
  { name: "that is empty", id: "", isEchoed: false },
  { name: "that is absent", id: undefined, isEchoed: false },
];
for (const { name, id, isEchoed } of ids) {
  for (const exchange of [exchanges.health, exchanges.reach, { method: "GET", path: "/nothing" }]) {
    test(`a request id ${name} is ${isEchoed ? "echoed" : "replaced"} by ${exchange.method} ${exchange.path}`, async () => {
      const { handler, told } = httpWorldOf();
      const request = new Request(`http://service.test${exchange.path}`, {
        headers: id === undefined ? {} : { "x-request-id": id },
      });
      const answered = (await handler(request)).headers.get("x-request-id");
      expect(answered).toStrictEqual(isEchoed ? id?.trim() : aUuid);
      expect(told.map(({ requestId }) => requestId)).toStrictEqual(exchange.path === "/nothing" ? [answered] : []);
    });
  }
}

for (const id of ["mine", "not mine"]) {
  test(`an error says the same id in its header, in its body and to the host when "${id}" is asked for`, async () => {
    const { handler, told } = httpWorldOf();
    const request = new Request("http://service.test/nothing", { headers: { "x-request-id": id } });
    const response = await handler(request);
    const requestId = response.headers.get("x-request-id");
    expect(requestId).toStrictEqual(id === "mine" ? "mine" : aUuid);
    expect(await response.json()).toStrictEqual({
      error: { code: "not_found", message: "There is nothing at this path.", requestId },
    });
    expect(told).toStrictEqual([{ error: expect.any(Error), request, requestId }]);
  });
}

test("two request ids are none", async () => {
  const { handler } = httpWorldOf();
  const headers = new Headers([
    ["x-request-id", "one"],
    ["x-request-id", "two"],
  ]);
  const response = await handler(new Request("http://service.test/health", { headers }));
  expect(response.headers.get("x-request-id")).toMatch(uuid);
});

test("every request without an id gets one of its own", async () => {
  const { handler } = httpWorldOf();
  const answered = new Set<string | null>();
  for (let count = 0; count < 20; count += 1) {
    answered.add((await handler(new Request("http://service.test/health"))).headers.get("x-request-id"));
  }
  expect(answered.size).toBe(20);
});

const answers: (Pick<Exchange, "method" | "path" | "body"> & { accept?: string; type?: string })[] = [
  ...Object.values(exchanges),
  { method: "HEAD", path: "/health" },
  { method: "GET", path: "/nothing" },
  { method: "DELETE", path: "/v1/tools" },
  { method: "POST", path: "/v1/authorize", body: "no JSON" },
  { method: "POST", path: "/v1/authorize", body: "{}" },
  { ...exchanges.executeTurn, accept: "text/event-stream", type: "text/event-stream" },
  { ...exchanges.executeTurn, body: "{}", accept: "text/event-stream" },
  { ...exchanges.listTools, accept: "text/event-stream" },
  { ...exchanges.listTools, accept: "text/html" },
  { ...exchanges.executeTurn, accept: "text/html" },
];
for (const { accept, type = "application/json", ...exchange } of answers) {
  const asked = accept === undefined ? "" : ` that accepts ${accept}`;
  const body = JSON.stringify(exchange.body)?.slice(0, 20) ?? "nothing";
  test(`${exchange.method} ${exchange.path} with ${body}${asked} is answered in ${type}, which no cache may store`, async () => {
    const { handler } = httpWorldOf();
    const { headers } = await handler(requestFor(exchange, { headers: accept === undefined ? {} : { accept } }));
    expect([headers.get("content-type"), headers.get("cache-control")]).toStrictEqual([type, "no-store"]);
    expect(headers.get("x-request-id")).toBe("request-1");
  });
}

for (const row of [
  { name: "a context that is not valid", options: { context: () => Promise.resolve(untyped<never>({})) } },
  { name: "a host that breaks", options: { context: () => Promise.reject(new Error("broken")) } },
]) {
  test(`${row.name} is answered in JSON, which no cache may store`, async () => {
    const { headers } = await httpWorldOf(row.options).handler(requestFor(exchanges.reach));
    expect([headers.get("content-type"), headers.get("cache-control")]).toStrictEqual(["application/json", "no-store"]);
  });
}
