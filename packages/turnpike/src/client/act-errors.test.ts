import { describe, expect, test } from "vitest";
import { ActDeniedError, ActFailedError, ActInterruptedError } from "./act-errors.ts";

describe("the error of an act that waits for a person", () => {
  const asked = { status: "waiting", id: "act-1", escalationId: "escalation-1" } as const;
  const expiresAt = "2026-01-01T12:05:00Z";
  const url = "https://gate.test/questions/demo/escalation-1";

  for (const { name, state, message } of [
    {
      name: "neither until when nor where they answer",
      state: asked,
      message: "A person was asked. Nothing has happened; do not try again by yourself.",
    },
    {
      name: "until when they may answer",
      state: { ...asked, expiresAt },
      message:
        "A person was asked, who may answer until 2026-01-01T12:05:00Z. Nothing has happened; do not try again by yourself.",
    },
    {
      name: "where they answer",
      state: { ...asked, url },
      message:
        "A person was asked. Nothing has happened; do not try again by yourself. They answer at https://gate.test/questions/demo/escalation-1",
    },
  ])
    test(`says ${name}, as its state does`, () => {
      expect(new ActDeniedError(state).message).toBe(message);
    });

  test("has the question and its place, and nothing that only a denial has", () => {
    expect(new ActDeniedError({ ...asked, url })).toMatchObject({
      name: "ActDeniedError",
      id: "act-1",
      code: "approval_required",
      details: undefined,
      requiredAuthority: undefined,
      escalationId: "escalation-1",
      url: "https://gate.test/questions/demo/escalation-1",
    });
  });
});

test("the error of a denial names no question when its details name none as a text", () => {
  const error = { code: "approval_required", message: "Ask.", details: { escalationId: 7 } };
  expect(new ActDeniedError({ status: "denied", id: "act-1", error })).toMatchObject({
    message: "Ask.",
    code: "approval_required",
    details: { escalationId: 7 },
    escalationId: undefined,
    url: undefined,
  });
});

for (const { name, reported, code, message } of [
  {
    name: "what was said of it",
    reported: { code: "no_disk", message: "No space." },
    code: "no_disk",
    message: "No space.",
  },
  {
    name: "that nothing was said of it",
    reported: undefined,
    code: "effect_failed",
    message: "It failed, and nothing more was said of it.",
  },
])
  test(`the error of an act that failed before says ${name}`, () => {
    expect(new ActFailedError("act-1", reported)).toMatchObject({ name: "ActFailedError", id: "act-1", code, message });
  });

for (const { code, message } of [
  { code: "replay_pending", message: "It has begun already, and may still be running." },
  { code: "replay_interrupted", message: "It has begun before and was interrupted: it may have happened." },
] as const)
  test(`the error of an act that has begun before says what ${code} means, and has a cause only when there is one`, () => {
    const error = new ActInterruptedError("act-1", code);
    expect(error).toMatchObject({ name: "ActInterruptedError", id: "act-1", code, message });
    expect("cause" in error).toBe(false);
    const cause = new Error("409");
    expect(new ActInterruptedError("act-1", code, cause).cause).toBe(cause);
  });
