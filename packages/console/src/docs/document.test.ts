import { describe, expect, test } from "vitest";
import { rulesText, shapesOf, typeText } from "./describe-schema.ts";
import { operationsOf, searchOperations, type ApiDocument } from "./document.ts";
import { curlText, exampleValues, requestOf } from "./try-request.ts";

const document: ApiDocument = {
  info: { title: "T", version: "1" },
  paths: {
    "/v1/things/{id}": {
      get: {
        operationId: "readThing",
        tags: ["Things"],
        summary: "Reads a thing",
        parameters: [{ $ref: "#/components/parameters/Id" }, { name: "deep", in: "query" }],
        responses: { 200: { description: "It." }, 404: { $ref: "#/components/responses/NotFound" } },
      },
      post: {
        operationId: "changeThing",
        security: [],
        parameters: [{ $ref: "#/components/parameters/Id" }, { name: "x-purpose", in: "header" }],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Result" } } } },
      },
    },
  },
  components: {
    parameters: { Id: { name: "id", in: "path", required: true } },
    responses: { NotFound: { description: "There is none." } },
    schemas: {
      Name: { type: "string", minLength: 1, maxLength: 9 },
      Result: {
        oneOf: [
          {
            type: "object",
            properties: {
              status: { type: "string", const: "done" },
              names: { type: "array", items: { $ref: "#/components/schemas/Name" } },
            },
            required: ["status"],
          },
          {
            type: "object",
            properties: { status: { type: "string", const: "denied" }, cause: { $ref: "#/components/schemas/Result" } },
          },
        ],
      },
    },
  },
};

describe("operations", () => {
  test("have what they refer to in its place", () => {
    const [read, change] = operationsOf(document);
    expect(read).toMatchObject({
      id: "readThing",
      method: "GET",
      tag: "Things",
      isOpen: false,
      parameters: [{ name: "id", in: "path" }, { name: "deep" }],
      responses: [{ status: "200" }, { status: "404", description: "There is none." }],
    });
    expect(change).toMatchObject({ id: "changeThing", isOpen: true });
  });

  test("are found by all the words of a search, wherever they are", () => {
    const all = operationsOf(document);
    expect(searchOperations(all, "THING deep").map(({ id }) => id)).toEqual(["readThing"]);
    expect(searchOperations(all, "  ")).toHaveLength(2);
    expect(searchOperations(all, "thing nowhere")).toEqual([]);
  });
});

describe("a schema", () => {
  test("is told as its shapes, each with what tells it from the others", () => {
    const shapes = shapesOf(document, { $ref: "#/components/schemas/Result" });
    expect(shapes.map(({ title }) => title)).toEqual(["status: done", "status: denied"]);
    expect(shapes[0]?.fields).toMatchObject([
      { name: "status", isRequired: true, type: '"done"', schema: undefined },
      { name: "names", isRequired: false, type: "Name[]", schema: undefined },
    ]);
    // A shape inside itself is named, and only opened on demand.
    expect(shapes[1]?.fields[1]).toMatchObject({ type: "Result", schema: { $ref: "#/components/schemas/Result" } });
  });

  test("says its rules in words", () => {
    expect(rulesText({ minLength: 1, maxLength: 9 })).toBe("1 to 9 characters");
    expect(rulesText({ minItems: 2 })).toBe("at least 2 items");
    expect(rulesText({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 50 })).toBe(
      "at least 0, 50 unless given",
    );
    expect(rulesText({ pattern: "^a$", format: "date-time" })).toBe("date-time, matches ^a$");
    expect(typeText(document, { enum: ["a", 1] })).toBe('"a" | 1');
    expect(typeText(document, { $ref: "#/components/schemas/Nowhere" })).toBe("Nowhere");
  });
});

describe("a trial", () => {
  const [read, change] = operationsOf(document);
  if (read === undefined || change === undefined) throw new Error("There are two operations.");

  test("puts what was typed where it belongs, and escapes it", () => {
    const values = { id: "a/b c", deep: "1&2", "x-purpose": "" };
    const request = requestOf(read, { token: "tp_1", values, body: "" }, "http://host.test");
    expect(request).toEqual({
      method: "GET",
      url: "http://host.test/v1/things/a%2Fb%20c?deep=1%262",
      headers: { authorization: "Bearer tp_1" },
      body: undefined,
    });
  });

  test("begins with the examples of what path and query need, and with no header", () => {
    const parameters = [
      { name: "id", in: "path", required: true, example: "turn-1" },
      { name: "limit", in: "query", required: true, example: 2 },
      { name: "cursor", in: "query", example: "behind" },
      { name: "unknown", in: "query", required: true },
      { name: "x-authority", in: "header", required: true, example: "human:alice" },
    ];
    expect(exampleValues({ parameters })).toEqual({ id: "turn-1", limit: "2" });
  });

  test("names the trace of its body in the header, too", () => {
    const sent = (body: string) =>
      requestOf(change, { token: "", values: { id: "1", "x-purpose": "p" }, body }, "http://host.test").headers;
    expect(sent('{ "message": { "traceId": "trace-2" } }')["x-trace-id"]).toBe("trace-2");
    expect(sent("no JSON")["x-trace-id"]).toBeUndefined();
    const body = '{ "traceId": "trace-1" }';
    const { headers } = requestOf(
      change,
      { token: "", values: { id: "1", "x-purpose": "p" }, body },
      "http://host.test",
    );
    expect(headers).toEqual({ "content-type": "application/json", "x-purpose": "p", "x-trace-id": "trace-1" });
  });

  test("as a command never shows the token, and is one word for a shell wherever it came from", () => {
    const request = requestOf(change, { token: "secret", values: { id: "'; rm" }, body: "it's" }, "http://host.test");
    const text = curlText(request);
    expect(text).not.toContain("secret");
    expect(text).toContain(String.raw`-d 'it'\''s'`);
    expect(text).toContain("%3B%20rm");
  });
});
