import { expect, test } from "vitest";
import { parseAnswer } from "./raw-http.ts";

const sized = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"say":"hél"}';
const chunked = "HTTP/1.1 404 \r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";

for (const row of [
  {
    name: "a whole answer with a length",
    text: sized.replace("13", "14"),
    expected: { status: 200, body: '{"say":"hél"}' },
  },
  { name: "an answer whose last byte is missing", text: sized.replace("13", "15"), expected: undefined },
  { name: "a whole answer in chunks", text: chunked, expected: { status: 404, body: "3\r\nabc\r\n0\r\n\r\n" } },
  { name: "an answer whose last chunk is missing", text: chunked.slice(0, -5), expected: undefined },
  {
    name: "an empty answer in chunks that have not come yet",
    text: chunked.slice(0, chunked.indexOf("3\r\n")),
    expected: undefined,
  },
  { name: "half a head", text: sized.slice(0, 30), expected: undefined },
]) {
  test(`${row.name} is ${row.expected === undefined ? "waited for" : "read"}`, () => {
    expect(parseAnswer(Buffer.from(row.text))).toEqual(row.expected);
  });
}
