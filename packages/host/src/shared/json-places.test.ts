import { expect, test } from "vitest";
import { JsonTextError, parseJsonWithPlaces } from "./json-places.ts";

const text = `{
  "listen": { "port": 1 },
  "list": [
    true,
    {"a": "\\u0041" }
  ]
}`;

for (const row of [
  { path: [], place: { line: 1, column: 1 } },
  { path: ["listen"], place: { line: 2, column: 13 } },
  { path: ["listen", "port"], place: { line: 2, column: 23 } },
  { path: ["list", 0], place: { line: 4, column: 5 } },
  { path: ["list", 1, "a"], place: { line: 5, column: 11 } },
  { path: ["listen", "host", "nothing"], place: { line: 2, column: 13 } },
]) {
  test(`the value at ${JSON.stringify(row.path)}, or the nearest around it, has a place`, () => {
    expect(parseJsonWithPlaces(text).placeOf(row.path)).toEqual(row.place);
  });
}

test("a key has a place, and the value is what JSON.parse says", () => {
  const parsed = parseJsonWithPlaces(text);
  expect(parsed.keyPlaceOf(["listen", "port"])).toEqual({ line: 2, column: 15 });
  expect(parsed.value).toEqual({ listen: { port: 1 }, list: [true, { a: "A" }] });
});

for (const row of [
  { name: "a comma too many", text: '{"a": 1,\n}', says: "found }, expected a key in double quotes", at: [2, 1] },
  { name: "a comma too many in a list", text: "[1,]", says: "found ], expected a value: ", at: [1, 4] },
  {
    name: "a comma that is missing",
    text: '{"a": 1\n "b": 2}',
    says: "found a text, expected a comma, or }",
    at: [2, 2],
  },
  { name: "a key without quotes", text: "{port: 1}", says: "found a word without quotes, expected a key", at: [1, 2] },
  { name: "single quotes", text: "{'port': 1}", says: "found a single quote, expected a key", at: [1, 2] },
  { name: "a comment", text: "{ // x\n}", says: "found a comment, which JSON does not have", at: [1, 3] },
  { name: "an end too early", text: '{"a": [1', says: "found the end of the file, expected a comma, or ]", at: [1, 9] },
  { name: "a text that does not end", text: '{"a": "x\n"}', says: "found a text that does not end", at: [1, 7] },
  { name: "something behind the end", text: "{} x", says: "expected nothing behind the end", at: [1, 4] },
  { name: "nothing at all", text: "", says: "found the end of the file, expected a value", at: [1, 1] },
  { name: "a colon that is missing", text: '{"a" 1}', says: "expected a colon behind the key", at: [1, 6] },
  { name: "a number with a leading zero", text: "[01]", says: "expected a value", at: [1, 2] },
  {
    name: "a character of another kind",
    text: "{\u{A0}}",
    says: "found a character that JSON does not have",
    at: [1, 2],
  },
  {
    name: "a number that parsing would change",
    text: '{\n "a": [1, 9007199254740993]}',
    says: "found a number, expected a whole number from -9007199254740991 to 9007199254740991; send any other as a string",
    at: [2, 11],
  },
  { name: "a number that would become 0", text: "[1e-400]", says: "a number that is not rounded to 0", at: [1, 2] },
  { name: "a number that would be infinite", text: "[-1e999]", says: "expected a finite number", at: [1, 2] },
  { name: "too many levels", text: "[".repeat(100_000), says: "expected at most 100 levels", at: [1, 102] },
]) {
  test(`${row.name} is named with its line and column`, () => {
    const [line, column] = row.at;
    expect(() => parseJsonWithPlaces(row.text)).toThrow(JsonTextError);
    expect(() => parseJsonWithPlaces(row.text)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(row.says), place: { line, column } }),
    );
  });
}

test("a key that appears twice in one object is refused where it appears again, however it is written; one that appears in two is not", () => {
  expect(parseJsonWithPlaces('[{"a":1},{"a":1,"b":{"a":2}}]').value).toHaveLength(2);
  expect(() => parseJsonWithPlaces('[{"a":1},\n {"a":1,"b":{"a":2},"\\u0061":3}]')).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/appears twice/), place: { line: 2, column: 21 } }),
  );
});

test("what is not JSON is not repeated, because it may hold a secret", () => {
  expect(() => parseJsonWithPlaces('{"password": hunter2}')).toThrow(/^(?!.*hunter2)/);
});

for (const same of ['{"a":[1,-2.5e+3,"\\n",null,false]}', " [ ] ", '"x"', "{}", '{"":{"":[]}}', "0"]) {
  test(`${same} is read as JSON.parse reads it`, () => {
    expect(parseJsonWithPlaces(same).value).toEqual(JSON.parse(same));
  });
}
