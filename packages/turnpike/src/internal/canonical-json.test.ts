import { expect, test } from "vitest";
import { canonicalJson } from "./canonical-json.ts";

// The audit chain, checkpoints, replay protection and escalations are hashed in this form: these texts never change.
for (const { name, value, text } of [
  {
    name: "keys in the order of their code units",
    value: { b: 1, a: 2, B: 3, "10": 4, "9": 5 },
    text: '{"10":4,"9":5,"B":3,"a":2,"b":1}',
  },
  { name: "keys of objects in lists", value: { b: [{ y: 1, x: 2 }], a: null }, text: '{"a":null,"b":[{"x":2,"y":1}]}' },
  { name: "a list in its own order", value: [2, 1, "1"], text: '[2,1,"1"]' },
  { name: "an undefined key as none", value: { a: undefined, b: {} }, text: '{"b":{}}' },
  { name: "an undefined element as null", value: [undefined], text: "[null]" },
  { name: "keys beyond the basic plane", value: { "\u{1f600}": 1, "\uffff": 2 }, text: '{"\u{1f600}":1,"\uffff":2}' },
  {
    name: "escapes as JSON.stringify writes them",
    value: { 'a"\n': "\u2028\ud800" },
    text: '{"a\\"\\n":"\u2028\\ud800"}',
  },
  { name: "numbers as JSON.stringify writes them", value: [1e21, 0.1, -0, true], text: "[1e+21,0.1,0,true]" },
]) {
  test(`canonical JSON has ${name}`, () => {
    expect(canonicalJson(value)).toBe(text);
  });
}
