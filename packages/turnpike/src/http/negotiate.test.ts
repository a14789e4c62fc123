import { expect, test } from "vitest";
import { preferredWait, prefersAsync } from "./negotiate.ts";

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

for (const { prefer, seconds } of [
  { prefer: "wait=30", seconds: 30 },
  { prefer: " WAIT = 30 ", seconds: 30 },
  { prefer: 'wait="30"', seconds: 30 },
  { prefer: "respond-async, wait=7;note=x", seconds: 7 },
  { prefer: 'note="wait=5, wait=6", wait=7', seconds: 7 },
  { prefer: "wait=60", seconds: 60 },
  { prefer: "wait=61", seconds: 60 },
  { prefer: "wait=99999999999999999999", seconds: 60 },
  { prefer: "wait=1, wait=2", seconds: 1 },
  { prefer: "wait=soon, wait=2", seconds: 0 },
  { prefer: "wait=0", seconds: 0 },
  { prefer: "wait=-1", seconds: 0 },
  { prefer: "wait=1.5", seconds: 0 },
  { prefer: 'wait=1"2"', seconds: 0 },
  { prefer: "wait", seconds: 0 },
  { prefer: "wait; 30", seconds: 0 },
  { prefer: "awaits=30", seconds: 0 },
  { prefer: 'note="wait=30"', seconds: 0 },
  { prefer: "", seconds: 0 },
  { prefer: null, seconds: 0 },
])
  test(`prefer: ${prefer} lets an answer wait for ${seconds} seconds`, () => {
    expect(preferredWait(prefer)).toBe(seconds);
  });
