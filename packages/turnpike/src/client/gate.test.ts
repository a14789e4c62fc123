import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deferred, rejection } from "../../test/deployment.ts";
import { refusal, standInGate, type StandInGate } from "../../test/stand-in-gate.ts";
import type { ActState } from "../contracts/index.ts";
import { ActDeniedError, ActFailedError, ActInterruptedError } from "./act-errors.ts";
import { connectGate, type ConnectGateOptions } from "./connect-gate.ts";
import { createGate, type EffectContext, type Gate, type GateAct, type GatePort } from "./gate.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const needs = [{ action: "send", resource: { namespace: "mail", path: ["bob"] } }];

function actOf(changes: Partial<GateAct> = {}): GateAct {
  return { id: "call-1", tool: "send_mail", needs, traceId: "run-1", arguments: { to: "bob" }, ...changes };
}

interface World {
  service: StandInGate;
  gate: Gate;
  /** What happened: one entry for each effect that began. */
  effects: string[];
  send(about: EffectContext): string;
  unreported: unknown[];
}

function worldOf(options: Partial<ConnectGateOptions> = {}): World {
  const service = standInGate();
  const effects: string[] = [];
  const unreported: unknown[] = [];
  const gate = connectGate({
    url: "http://service.test",
    fetch: async (input, init) => {
      const request = new Request(input, init);
      request.signal.throwIfAborted();
      return service.handler(request);
    },
    onUnreported: (id, error) => unreported.push([id, (error as { code?: string }).code]),
    ...options,
  });
  const send = ({ id }: EffectContext): string => {
    effects.push(id);
    return `sent ${id}`;
  };
  return { service, gate, effects, send, unreported };
}

/** Waits for work, and lets every pause in it pass at once. */
async function passing<T>(work: Promise<T>): Promise<T> {
  const progress = { isDone: false };
  const watched = work.finally(() => (progress.isDone = true));
  await expect
    .poll(async () => {
      await vi.runAllTimersAsync();
      return progress.isDone;
    })
    .toBe(true);
  return watched;
}

const away = (): Promise<Response> => Promise.reject(new TypeError("fetch failed"));

describe("an act that is allowed", () => {
  test("happens, and its output is reported before the caller has it", async () => {
    const { service, gate, send, effects } = worldOf();
    expect(await gate.run(actOf(), send)).toBe("sent call-1");
    expect(effects).toEqual(["call-1"]);
    expect(service.begun).toMatchObject([
      {
        prefer: null,
        request: {
          version: 1,
          id: "call-1",
          tool: "send_mail",
          needs,
          arguments: { to: "bob" },
          traceId: "run-1",
          requestedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
        },
      },
    ]);
    expect(service.finished).toEqual([
      { id: "call-1", outcome: { version: 1, traceId: "run-1", status: "succeeded", output: "sent call-1" } },
    ]);
  });

  test("happens once for its id: the same again returns what was recorded, as JSON", async () => {
    const { gate, effects } = worldOf();
    const effect = ({ id }: EffectContext): { at: unknown } => {
      effects.push(id);
      return { at: new Date(0) };
    };
    expect(await gate.run(actOf(), effect)).toEqual({ at: new Date(0) });
    expect(await gate.run(actOf(), effect)).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    expect(effects).toHaveLength(1);
  });

  test("happens again in another trace, and in a random one each time when none is given", async () => {
    const { gate, send, effects } = worldOf();
    await gate.run(actOf(), send);
    await gate.run(actOf({ traceId: "run-2" }), send);
    await gate.run(actOf({ traceId: undefined }), send);
    await gate.run(actOf({ traceId: undefined }), send);
    expect(effects).toHaveLength(4);
  });

  test("is reported under its execution when it has one, and happens once in that", async () => {
    const { service, gate, send, effects } = worldOf();
    await gate.run(actOf({ executionId: "turn-1" }), send);
    await gate.run(actOf({ executionId: "turn-1", traceId: "another" }), send);
    expect(effects).toHaveLength(1);
    expect(service.finished.map(({ outcome }) => outcome)).toEqual([
      { version: 1, executionId: "turn-1", status: "succeeded", output: "sent call-1" },
    ]);
  });

  test("that another one holds is refused as pending, and as interrupted when the lease has run out", async () => {
    const { service, gate, send, effects } = worldOf();
    await gate.begin(actOf());
    const pending = await rejection(gate.run(actOf(), send));
    expect(pending).toBeInstanceOf(ActInterruptedError);
    expect(pending).toMatchObject({ code: "replay_pending", id: "call-1" });
    service.lapse("call-1");
    const interrupted = await rejection(gate.run(actOf(), send));
    expect(interrupted).toBeInstanceOf(ActInterruptedError);
    expect(interrupted).toMatchObject({ code: "replay_interrupted", name: "ActInterruptedError" });
    expect(effects).toEqual([]);
  });

  test("is refused when its id was another act's", async () => {
    const { gate, send } = worldOf();
    await gate.run(actOf(), send);
    expect(await rejection(gate.run(actOf({ arguments: { to: "eve" } }), send))).toMatchObject({
      code: "replay_conflict",
    });
  });

  for (const [name, output] of [
    ["undefined", undefined],
    ["what JSON has no words for", 1n],
    ["a circle", Object.assign([], { 0: null }) as unknown[]],
  ] as const)
    test(`may return ${name}, which is recorded without an output`, async () => {
      const { service, gate } = worldOf();
      const circle = [] as unknown[];
      circle.push(circle);
      const value = Array.isArray(output) ? circle : output;
      expect(await gate.run(actOf(), () => value)).toBe(value);
      expect(service.finished[0]?.outcome).toEqual({ version: 1, traceId: "run-1", status: "succeeded" });
      expect(await gate.run(actOf(), () => "again")).toBeUndefined();
    });
});

describe("an effect that throws", () => {
  test("is reported as failed, thrown on, and replayed as failed", async () => {
    const { service, gate } = worldOf();
    const broken = new Error("The mail server said no.");
    const failing = () => Promise.reject(broken);
    expect(await rejection(gate.run(actOf(), failing))).toBe(broken);
    expect(service.finished[0]?.outcome).toEqual({
      version: 1,
      traceId: "run-1",
      status: "failed",
      error: { code: "effect_failed", message: "The mail server said no." },
    });
    const replayed = await rejection(gate.run(actOf(), failing));
    expect(replayed).toBeInstanceOf(ActFailedError);
    expect(replayed).toMatchObject({ id: "call-1", code: "effect_failed", message: "The mail server said no." });
  });

  for (const [name, thrown, message] of [
    ["nothing at all", undefined, "undefined"],
    ["an error without a message", new Error(""), "It failed without a message."],
    ["a long text", "x".repeat(5000), "x".repeat(4096)],
    ["half a character", "a\ud800", "a\ufffd"],
  ] as const)
    test(`with ${name} is reported with words that the contract takes`, async () => {
      const { service, gate } = worldOf();
      expect(await rejection(gate.run(actOf(), () => Promise.reject(thrown)))).toBe(thrown);
      expect(service.finished[0]?.outcome).toMatchObject({ error: { code: "effect_failed", message } });
    });
});

describe("an act that is denied", () => {
  test("does not happen, and the error has the code and the details", async () => {
    const { service, gate, send, effects } = worldOf();
    service.verdicts.set("send_mail", {
      code: "no_matching_grant",
      message: "No grant covers it.",
      details: { hint: "ask alice" },
    });
    const error = await rejection(gate.run(actOf(), send));
    expect(error).toBeInstanceOf(ActDeniedError);
    expect(error).toMatchObject({
      name: "ActDeniedError",
      id: "call-1",
      code: "no_matching_grant",
      message: "No grant covers it.",
      details: { hint: "ask alice" },
      escalationId: undefined,
    });
    expect([effects, service.finished]).toEqual([[], []]);
  });

  test("restates what would have to be granted", async () => {
    const requiredAuthority = { subject: { kind: "agent", agentId: "helper" }, capabilities: [], constraints: {} };
    const denied = { status: "denied", id: "call-1", error: { code: "no", message: "No." }, requiredAuthority };
    const { id, ...error } = new ActDeniedError(denied as never);
    expect([id, error.requiredAuthority]).toEqual(["call-1", requiredAuthority]);
  });

  test("for lack of an answer names the question that its details name", () => {
    const error = { code: "approval_required", message: "Ask.", details: { escalationId: "escalation-1" } };
    expect(new ActDeniedError({ status: "denied", id: "call-1", error }).escalationId).toBe("escalation-1");
  });
});

describe("an act that a person has to allow", () => {
  test("does not happen without waiting, and the error says that they were asked, until when and where", async () => {
    const { service, gate, send, effects } = worldOf();
    service.verdicts.set("send_mail", "ask");
    const error = await rejection(gate.run(actOf(), send));
    expect(error).toBeInstanceOf(ActDeniedError);
    expect(error).toMatchObject({
      code: "approval_required",
      escalationId: "escalation-send_mail",
      url: "https://gate.test/questions/demo/escalation-1",
      message:
        "A person was asked, who may answer until 2026-01-01T12:05:00Z. Nothing has happened; do not try again by yourself. They answer at https://gate.test/questions/demo/escalation-1",
    });
    expect(effects).toEqual([]);
  });

  test("is held while its caller waits for the answer, and happens after an approval", async () => {
    const { service, gate, send, effects } = worldOf();
    service.verdicts.set("send_mail", "ask");
    const running = gate.run(actOf(), send, { wait: 45 });
    await expect.poll(() => service.held).toBe(1);
    expect(effects).toEqual([]);
    service.answer("send_mail", "yes");
    expect(await running).toBe("sent call-1");
    expect(service.begun.map(({ prefer }) => prefer)).toEqual(["wait=45"]);
  });

  test("does not happen after a denial", async () => {
    const { service, gate, send, effects } = worldOf();
    service.verdicts.set("send_mail", "ask");
    const running = rejection(gate.run(actOf(), send, { wait: 45 }));
    await expect.poll(() => service.held).toBe(1);
    service.answer("send_mail", "no");
    expect(await running).toMatchObject({ name: "ActDeniedError", code: "approval_denied" });
    expect(effects).toEqual([]);
  });

  test("is asked for minute after minute until the wait is over", async () => {
    const { service, gate, send } = worldOf();
    service.verdicts.set("send_mail", "ask");
    const running = rejection(gate.run(actOf(), send, { wait: 90 }));
    for (const seconds of [60, 30]) {
      await expect.poll(() => service.held).toBe(1);
      await vi.advanceTimersByTimeAsync(seconds * 1000);
      service.letGo();
      await expect.poll(() => service.held).toBe(0);
    }
    expect(await running).toMatchObject({ code: "approval_required" });
    expect(service.begun.map(({ prefer }) => prefer)).toEqual(["wait=60", "wait=30"]);
  });

  test("is asked for after a pause when the service does not hold the request", async () => {
    const { service, gate, send } = worldOf();
    service.verdicts.set("send_mail", "ask");
    const running = gate.run(actOf(), send, { wait: 20 });
    await expect.poll(() => service.held).toBe(1);
    service.letGo();
    await expect.poll(() => vi.getTimerCount()).toBe(1);
    expect(service.begun).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(250);
    await expect.poll(() => service.held).toBe(1);
    service.answer("send_mail", "yes");
    expect(await running).toBe("sent call-1");
    expect(service.begun.map(({ prefer }) => prefer)).toEqual(["wait=20", "wait=20"]);
  });
});

describe("a caller who cancels", () => {
  const reason = new Error("changed my mind");

  test("before it begins has begun nothing", async () => {
    const { service, gate, send, effects } = worldOf();
    expect(await rejection(gate.run(actOf(), send, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect([service.begun, effects]).toEqual([[], []]);
  });

  test("while it begins hears so at once, and what is allowed then is given back without having happened", async () => {
    const { service, gate, send, effects } = worldOf();
    const controller = new AbortController();
    const answered = deferred<void>();
    service.fail(async () => {
      await answered.promise;
      return Response.json(await gate.begin(actOf()));
    });
    const running = rejection(gate.run(actOf(), send, { signal: controller.signal }));
    controller.abort(reason);
    expect(await running).toBe(reason);
    answered.resolve();
    await expect.poll(() => service.finished).toHaveLength(1);
    expect(service.finished[0]?.outcome).toEqual({
      version: 1,
      traceId: "run-1",
      status: "failed",
      error: { code: "cancelled", message: "The caller cancelled before it began.", nothingHappened: true },
    });
    expect(effects).toEqual([]);
    expect(await gate.run(actOf(), send)).toBe("sent call-1");
  });

  test("while an act is denied gives nothing back", async () => {
    const { service, gate, send } = worldOf();
    service.verdicts.set("send_mail", { code: "no_matching_grant", message: "No." });
    const controller = new AbortController();
    const running = rejection(gate.run(actOf(), send, { signal: controller.signal }));
    controller.abort(reason);
    expect(await running).toBe(reason);
    await expect.poll(() => service.begun).toHaveLength(1);
    await gate.close();
    expect(service.finished).toEqual([]);
  });

  test("while a claim of another caller is refused gives nothing back", async () => {
    const { service, gate, send } = worldOf();
    await gate.begin(actOf());
    const controller = new AbortController();
    const running = rejection(gate.run(actOf(), send, { signal: controller.signal }));
    controller.abort(reason);
    expect(await running).toBe(reason);
    await gate.close();
    expect(service.finished).toEqual([]);
  });

  test("while a person is asked leaves, and an approval that comes later makes nothing happen", async () => {
    const { service, gate, send, effects } = worldOf();
    service.verdicts.set("send_mail", "ask");
    const controller = new AbortController();
    const running = rejection(gate.run(actOf(), send, { signal: controller.signal, wait: 45 }));
    await expect.poll(() => service.held).toBe(1);
    controller.abort(reason);
    expect(await running).toBe(reason);
    await expect.poll(() => service.held).toBe(0);
    service.answer("send_mail", "yes");
    await gate.close();
    expect([effects, service.finished]).toEqual([[], []]);
  });

  test("while the effect runs reaches it, and it is reported as cancelled", async () => {
    const { service, gate } = worldOf();
    const controller = new AbortController();
    const effect = ({ signal }: EffectContext) => {
      controller.abort(reason);
      return Promise.reject<string>(signal.reason as Error);
    };
    expect(await rejection(gate.run(actOf(), effect, { signal: controller.signal }))).toBe(reason);
    expect(service.finished[0]?.outcome).toMatchObject({
      status: "failed",
      error: { code: "cancelled", message: "changed my mind" },
    });
  });

  test("too late changes nothing: what has happened is reported as it is", async () => {
    const { service, gate, send } = worldOf();
    const controller = new AbortController();
    const effect = (about: EffectContext) => {
      controller.abort(reason);
      return send(about);
    };
    expect(await gate.run(actOf(), effect, { signal: controller.signal })).toBe("sent call-1");
    expect(service.finished[0]?.outcome).toMatchObject({ status: "succeeded" });
  });
});

describe("a service that is away", () => {
  test("lets nothing happen", async () => {
    const { service, gate, send, effects } = worldOf();
    service.fail(away);
    expect(await rejection(gate.run(actOf(), send))).toMatchObject({
      name: "ServiceClientError",
      code: "request_failed",
    });
    expect(effects).toEqual([]);
  });

  test("lets nothing happen when it hangs, and it is said after half a minute", async () => {
    const { gate, send, effects } = worldOf({
      fetch: (_input, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
        }),
    });
    const running = rejection(gate.run(actOf(), send));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await running).toMatchObject({
      name: "ServiceClientError",
      code: "request_failed",
      message: "The service did not answer within 30 s.",
    });
    expect(effects).toEqual([]);
  });

  test("is told what has happened when it comes back", async () => {
    const { service, gate, send, unreported } = worldOf();
    const running = gate.run(actOf(), (about) => {
      service.fail(away, () => refusal(503, "overloaded"));
      return send(about);
    });
    expect(await passing(running)).toBe("sent call-1");
    expect(service.finished).toHaveLength(1);
    expect(unreported).toEqual([]);
  });

  test("for long is not waited for: the caller has what has happened, and it is said that it is not recorded", async () => {
    const { service, gate, send, unreported } = worldOf();
    const running = gate.run(actOf(), (about) => {
      service.fail(...Array.from({ length: 6 }, () => away));
      return send(about);
    });
    expect(await passing(running)).toBe("sent call-1");
    expect(unreported).toEqual([["call-1", "request_failed"]]);
    expect(service.finished).toEqual([]);
  });

  test("that refuses an outcome for good is asked once", async () => {
    const { service, gate, send, unreported } = worldOf();
    await gate.run(actOf(), (about) => {
      service.fail(() => refusal(401, "unauthenticated"));
      return send(about);
    });
    expect(unreported).toEqual([["call-1", "unauthenticated"]]);
  });

  test("that refuses an output hears that it has happened", async () => {
    const { service, gate, send, unreported } = worldOf();
    const output = await gate.run(actOf(), (about) => {
      service.fail(() => refusal(413, "payload_too_large"));
      return send(about);
    });
    expect(output).toBe("sent call-1");
    expect(service.finished.map(({ outcome }) => outcome)).toEqual([
      { version: 1, traceId: "run-1", status: "succeeded" },
    ]);
    expect(unreported).toEqual([]);
  });
});

describe("a port of the host's own", () => {
  const allowed: ActState = { status: "allowed", id: "call-1", grants: ["grant-1"] };

  test("that says an act was interrupted lets nothing happen", async () => {
    const expiresAt = "2026-01-01T12:05:00Z";
    const port = portOf(() => Promise.resolve({ status: "interrupted", id: "call-1", expiresAt }));
    const effect = vi.fn<() => string>();
    const error = await rejection(createGate(port).run(actOf(), effect));
    expect(error).toBeInstanceOf(ActInterruptedError);
    expect(error).toMatchObject({ id: "call-1", code: "replay_interrupted" });
    expect(effect).not.toHaveBeenCalled();
  });

  for (const [name, thrown] of [
    ["an error without a code", new Error("The disk is full.")],
    ["an error whose code is a number", Object.assign(new Error("The disk is full."), { code: 28 })],
    ["a text", "The disk is full."],
    ["nothing at all", null],
  ] as const)
    test(`that refuses an outcome with ${name} is asked once, and the caller has what has happened`, async () => {
      const finish = vi.fn<GatePort["finish"]>(() => Promise.reject(thrown));
      const unreported: unknown[] = [];
      const onUnreported = (id: string, error: unknown) => void unreported.push([id, error]);
      const gate = createGate({ ...portOf(() => Promise.resolve(allowed)), finish }, { onUnreported });
      expect(await gate.run(actOf(), () => "sent")).toBe("sent");
      expect(unreported).toEqual([["call-1", thrown]]);
      expect(finish).toHaveBeenCalledTimes(1);
    });

  test("that fails to begin is heard by a caller who could have cancelled, and nothing is given back", async () => {
    const broken = new Error("The disk is full.");
    const finish = vi.fn<GatePort["finish"]>();
    const gate = createGate({ ...portOf(() => Promise.reject(broken)), finish });
    const { signal } = new AbortController();
    expect(await rejection(gate.run(actOf(), () => "sent", { signal }))).toBe(broken);
    await gate.close();
    expect(finish).not.toHaveBeenCalled();
  });

  /** A port that takes every outcome. */
  function portOf(begin: GatePort["begin"]): GatePort {
    const completedAt = "2026-01-01T12:00:00Z";
    return { begin, finish: (id) => Promise.resolve({ status: "succeeded", id, completedAt }) };
  }
});

describe("an act that is only shadowed", () => {
  const shadow = { shadow: true } as const;

  test("happens whatever the service would have decided, and nothing is claimed or reported", async () => {
    const { service, gate, send, effects } = worldOf();
    service.verdicts.set("send_mail", { code: "no_matching_grant", message: "No." });
    await gate.run(actOf(shadow), send);
    await gate.run(actOf(shadow), send);
    expect(effects).toHaveLength(2);
    expect(service.begun.map(({ request }) => request.shadow)).toEqual([true, true]);
    expect(service.finished).toEqual([]);
  });

  test("happens when the service is away, and when it hangs for five seconds", async () => {
    const { service, gate, send, effects } = worldOf();
    service.fail(away, () => new Promise(() => {}));
    await gate.run(actOf(shadow), send);
    const running = gate.run(actOf(shadow), send);
    await vi.advanceTimersByTimeAsync(5000);
    await running;
    expect(effects).toHaveLength(2);
  });

  test("does not happen when its caller cancels before", async () => {
    const { service, gate, send, effects } = worldOf();
    const controller = new AbortController();
    service.fail(() => new Promise(() => {}));
    const reason = new Error("changed my mind");
    const running = rejection(gate.run(actOf(shadow), send, { signal: controller.signal }));
    controller.abort(reason);
    expect(await running).toBe(reason);
    expect(effects).toEqual([]);
  });
});

test("a dry run is begun, and never carried out", async () => {
  const { service, gate, send, effects } = worldOf();
  expect(await gate.begin(actOf({ dryRun: true }))).toMatchObject({ status: "allowed" });
  expect(await rejection(gate.run(actOf({ dryRun: true }), send))).toBeInstanceOf(TypeError);
  expect([effects, service.begun.length]).toEqual([[], 1]);
});

test("an act is begun and finished step by step", async () => {
  const { service, gate, send } = worldOf();
  expect(await gate.begin(actOf())).toMatchObject({ status: "allowed", id: "call-1" });
  const outcome = { traceId: "run-1", status: "succeeded", output: 7, labels: ["web"] } as const;
  expect(await gate.finish("call-1", { ...outcome, labels: [...outcome.labels] })).toMatchObject({
    status: "succeeded",
  });
  expect(service.finished).toEqual([{ id: "call-1", outcome: { version: 1, ...outcome } }]);
  expect(await gate.run(actOf(), send)).toBe(7);
});

test("a gate that is closed begins nothing, and waits for what is under way to be reported", async () => {
  const { service, gate, send } = worldOf();
  const settled = deferred<void>();
  const running = gate.run(actOf(), async (about) => {
    await settled.promise;
    return send(about);
  });
  await expect.poll(() => service.begun).toHaveLength(1);
  const closing = gate.close();
  expect(await rejection(gate.run(actOf({ id: "call-2" }), send))).toMatchObject({ message: "The gate is closed." });
  settled.resolve();
  await closing;
  expect(service.finished).toHaveLength(1);
  expect(await running).toBe("sent call-1");
});
