import { describe, expect, test } from "vitest";
import { formTargetOf, isRedirectUri, isRegistered, placeOf } from "./redirects.ts";

describe("an address of a client", () => {
  const rows: [address: string, isTaken: boolean][] = [
    ["https://app.example/callback", true],
    ["https://app.example/callback?tenant=1", true],
    ["http://127.0.0.1:7777/callback", true],
    ["http://localhost/callback", true],
    ["http://[::1]:7777/callback", true],
    ["vscode://editor.oauth/callback", true],
    ["com.example.app:/callback", true],
    ["http://app.example/callback", false],
    ["http://127.0.0.1.evil.example/callback", false],
    ["https:app.example", false],
    ["https://user@app.example/callback", false],
    ["https://app.example/callback#part", false],
    ["https://app.example\\@evil.example", false],
    ["javascript:alert(1)", false],
    ["JavaScript:alert(1)", false],
    ["data:text/html,hello", false],
    ["file:///etc/passwd", false],
    ["blob:https://app.example/1", false],
    ["https://app.example/a b", false],
    ["https://app.example/ä", false],
    ['https://app.example/"><script>', false],
    ["/callback", false],
    ["", false],
    [`https://app.example/${"a".repeat(1000)}`, false],
  ];
  test.each(rows)("%s", (address, isTaken) => {
    expect(isRedirectUri(address)).toBe(isTaken);
  });
});

describe("a client is answered where it registered", () => {
  const registered = ["http://127.0.0.1/callback", "https://app.example/callback", "cursor://app/callback"];
  const rows: [asked: string, isAnswered: boolean][] = [
    ["http://127.0.0.1:7777/callback", true],
    ["http://127.0.0.1/callback", true],
    ["https://app.example/callback", true],
    ["cursor://app/callback", true],
    ["http://localhost:7777/callback", false],
    ["http://127.0.0.1:7777/callback/", false],
    ["http://127.0.0.1:7777/callback?to=1", false],
    ["http://127.0.0.1:7777@evil.example/callback", false],
    ["https://app.example:8443/callback", false],
    ["https://APP.example/callback", false],
    ["https://app.example/callback/../other", false],
    ["cursor://app/other", false],
  ];
  test.each(rows)("%s", (asked, isAnswered) => {
    expect(isRegistered(registered, asked)).toBe(isAnswered);
  });
});

test("a page may send its form to the client alone, and a person is told who that is", () => {
  const rows = [
    ["https://app.example:8443/callback", "https://app.example:8443", "app.example:8443"],
    ["http://127.0.0.1:7777/callback", "http://127.0.0.1:7777", "a program on this computer"],
    ["http://[::1]:7777/callback", "http:", "a program on this computer"],
    ["cursor://app/callback", "cursor:", "the app that opens cursor://"],
  ] as const;
  for (const [address, target, place] of rows)
    expect([formTargetOf(address), placeOf(address)]).toEqual([target, place]);
});
