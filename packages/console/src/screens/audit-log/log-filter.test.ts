import { expect, test } from "vitest";
import { filterOf } from "./log-filter.ts";

test("only filters are read from an address, and none that are empty", () => {
  expect(filterOf(new URLSearchParams("actor=agent:x&outcome=&open=0:1"))).toEqual({ actor: "agent:x" });
});
