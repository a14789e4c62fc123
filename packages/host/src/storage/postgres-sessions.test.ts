import { expect, test } from "vitest";
import { sessions } from "./postgres-sessions.ts";

test("a statement has the same name on every host, and another statement another", () => {
  const { nameOf } = sessions.session;
  expect(nameOf("select 2")).toBe("turnpike-3cf988cc782b44bc24ceb17e445d9c3c");
  expect(nameOf("select 1")).toBe("turnpike-822ae07d4783158bc1912bb623e5107c");
});

test("a statement has no name on a connection that is lent", () => {
  expect(sessions.transaction.nameOf("select 1")).toBeUndefined();
});
