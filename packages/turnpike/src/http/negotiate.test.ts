import { expect, test } from "vitest";
import { prefersAsync } from "./negotiate.ts";

for (const { prefer, isAsync } of [
  { prefer: "respond-async", isAsync: true },
  { prefer: " Respond-ASYNC ", isAsync: true },
  { prefer: "wait=10, respond-async", isAsync: true },
  { prefer: "respond-async; foo=bar, wait=10", isAsync: true },
  { prefer: 'respond-async=""', isAsync: true },
  { prefer: 'note="a, b", respond-async', isAsync: true },
  { prefer: "return=minimal,respond-async;q=0", isAsync: true },
  { prefer: null, isAsync: false },
  { prefer: "", isAsync: false },
  { prefer: "respond", isAsync: false },
  { prefer: "respond-async-later", isAsync: false },
  { prefer: "wait; respond-async", isAsync: false },
  { prefer: "wait=respond-async", isAsync: false },
  { prefer: 'note="a, respond-async"', isAsync: false },
  { prefer: 'note="a, respond-async, b"', isAsync: false },
]) {
  test(`prefer: ${prefer} ${isAsync ? "starts a turn that runs by itself" : "starts no such turn"}`, () => {
    expect(prefersAsync(prefer)).toBe(isAsync);
  });
}
