import { expect, test } from "vitest";
import { readNewTool } from "./new-tool.ts";

const argument = (...path: string[]) => ["inputSchema", "properties", ...path];

test("a tool that is new is read from its parts: its description, and its arguments with what each is", () => {
  expect(
    readNewTool([
      { path: ["annotations", "readOnlyHint"], after: true },
      { path: ["description"], after: "Sends a mail." },
      { path: argument("to", "description"), after: "who gets it" },
      { path: argument("to", "items", "type"), after: "string" },
      { path: argument("to", "type"), after: "array" },
      { path: argument("cc", "type", "0"), after: "string" },
      { path: argument("cc", "type", "1"), after: "null" },
      { path: argument("any"), after: {} },
      { path: ["inputSchema", "required", "0"], after: "to" },
      { path: ["name"], after: "send" },
    ]),
  ).toEqual({
    description: "Sends a mail.",
    arguments: [
      { name: "to", type: "array", isRequired: true, description: "who gets it" },
      { name: "cc", type: "string or null", isRequired: false, description: "" },
      { name: "any", type: "anything", isRequired: false, description: "" },
    ],
  });
});

test("a definition whose parts are compared as wholes is read as well", () => {
  const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
  expect(
    readNewTool([
      { path: ["inputSchema"], after: schema },
      { path: ["title"], after: "A title." },
    ]),
  ).toEqual({
    description: "A title.",
    arguments: [{ name: "a", type: "string", isRequired: true, description: "" }],
  });
});

test("names that every object has, and parts that are no schema, are shown as they are", () => {
  const { arguments: shown } = readNewTool([
    { path: argument("__proto__", "type"), after: "string" },
    { path: argument("constructor"), after: 7 },
    { path: ["inputSchema", "required", "0"], after: "constructor" },
  ]);
  expect(shown).toEqual([
    { name: "__proto__", type: "string", isRequired: false, description: "" },
    { name: "constructor", type: "anything", isRequired: true, description: "" },
  ]);
  expect(readNewTool([])).toEqual({ description: "", arguments: [] });
});
