import { beforeAll, describe, expect, test } from "vitest";
import { databaseKinds } from "../../packages/host/test/databases.ts";
import {
  appendCall,
  effectsIn,
  makeEffectTenant,
  openGate,
  placeFor,
  startEffectHost,
} from "../support/effect-host.ts";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { alice, assistant, makeGrant, turn } from "../support/host-world.ts";

const replayed = "idempotency-replayed";
const noon = "2026-01-01T12:00:00Z";
const later = "2026-02-02T00:00:00Z";

/** The requests of each kind of effect, all under one id. */
const kinds = [
  {
    name: "a tool call",
    path: "/v1/tools/invoke",
    body: (id: string, word: string, at: string) => ({ ...appendCall(id, "trace", { line: word }), requestedAt: at }),
  },
  {
    name: "a turn",
    path: "/v1/turns",
    body: (id: string, word: string, at: string) => turn(id, "trace", { line: word }, at),
  },
  {
    name: "a resource operation",
    path: "/v1/resources/invoke",
    body: (id: string, word: string) => ({
      operationId: id,
      action: "create",
      resource: { namespace: "files", path: [word] },
      input: { content: word },
    }),
  },
  {
    name: "a message",
    path: "/v1/messages",
    body: (id: string, word: string, at: string) => ({
      version: 1,
      id,
      createdAt: at,
      traceId: "trace",
      purpose: "support",
      sender: assistant,
      receiver: alice,
      payload: word,
    }),
  },
];

for (const kind of databaseKinds) {
  describe(`replay protection on ${kind}`, () => {
    const folder = makeFolder();
    let place: { database?: string };
    let host: HostProcess;
    let token: string;
    beforeAll(async () => {
      place = await placeFor(kind);
      host = await startEffectHost(folder, place);
      token = await makeEffectTenant(host);
      await makeGrant(host, { id: "files", resource: "files", actions: ["create"] });
      await makeGrant(host, { id: "messages", resource: "service.messaging/human/alice", actions: ["send"] });
    });
    const send = (path: string, body: unknown, as = token, headers: Record<string, string> = {}): Promise<Answer> =>
      ask(host.url, path, { token: as, headers: { "x-trace-id": "trace", ...headers }, body });

    for (const { name, path, body } of kinds) {
      test(`${name} under one id runs once, and another one under it is refused`, async () => {
        const id = `once ${name}`;
        const first = await send(path, body(id, id, noon));
        expect(first.text).toMatch(/"status":"(succeeded|accepted)"/);
        expect(first.headers.has(replayed)).toBe(false);
        const happened = effectsIn(folder);

        const second = await send(path, body(id, id, noon));
        expect(second.text).toBe(first.text);
        expect(second.status).toBe(first.status);
        expect(second.headers.get(replayed)).toBe("true");
        expect((await send(path, body(id, id, later))).text).toBe(first.text);

        const other = await send(path, body(id, "another word", noon));
        expect(other.status).toBe(409);
        expect(other.body).toMatchObject({
          error: { code: "replay_conflict", message: "This id was used for another request." },
        });
        const forBob = await send(path, body(id, id, noon), token, { "x-authority": "human:bob" });
        expect(forBob.body).toMatchObject({ error: { code: "replay_conflict" } });
        expect(effectsIn(folder)).toEqual(happened);
      });
    }

    test("what was refused before anything ran leaves its id free: the same id works once it is allowed", async () => {
      const refused = await send("/v1/turns", turn("denied turn", "another-trace"));
      expect(refused.body).toMatchObject({ status: "denied", error: { code: "message_context_mismatch" } });
      const allowed = await send("/v1/turns", turn("denied turn", "trace", { line: "denied turn" }));
      expect(allowed.body).toMatchObject({ status: "succeeded" });
      expect(allowed.headers.has(replayed)).toBe(false);
    });

    test("a request that never became an operation takes no id", async () => {
      const refused = await send("/v1/tools/invoke", { ...appendCall("free", "trace"), extra: 1 });
      expect(refused.status).toBe(400);
      expect((await send("/v1/tools/invoke", appendCall("free", "trace"))).body).toMatchObject({ status: "succeeded" });
    });

    test("an id of any characters is answered, and none of them is an outage", async () => {
      for (const id of ["a b", "Ünïcödé", "😀", "line\nbreak", "quote'\"--", "nul\0nul"]) {
        const { status, text } = await send("/v1/tools/invoke", appendCall(id, "trace"));
        expect(status, `${JSON.stringify(id)}: ${text}`).toBeLessThan(500);
      }
    });

    test("one id in two traces is two tool calls", async () => {
      for (const trace of ["first-trace", "second-trace"]) {
        const body = appendCall("shared id", trace, { line: trace });
        const answer = await send("/v1/tools/invoke", body, token, { "x-trace-id": trace });
        expect(answer.body).toMatchObject({ status: "succeeded", output: { line: trace } });
      }
    });

    test("the same request while the first still runs is told to wait, and then gets the result", async () => {
      for (const [name, path, body] of [
        ["tool", "/v1/tools/invoke", appendCall("slow tool", "trace", { until: "gate-tool" })],
        ["turn", "/v1/turns", turn("slow turn", "trace", { line: "slow turn", until: "gate-turn" })],
      ] as const) {
        const running = send(path, body);
        await eventually(() => expect(effectsIn(folder)).toContain(`slow ${name}`));
        const pending = await send(path, body);
        expect(pending.status).toBe(409);
        expect(pending.headers.get("retry-after")).toBe("1");
        expect(pending.body).toMatchObject({
          error: { code: "replay_pending", message: "The same request is still running." },
        });
        openGate(folder, `gate-${name}`);
        const first = await running;
        expect(first.body).toMatchObject({ status: "succeeded" });
        expect((await send(path, body)).text).toBe(first.text);
        expect(effectsIn(folder).filter((line) => line === `slow ${name}`)).toHaveLength(1);
      }
    });

    test("a streamed turn is repeated with the same events and result", async () => {
      const body = turn("streamed", "trace", { line: "streamed" });
      const stream = { accept: "text/event-stream" };
      const first = await send("/v1/turns", body, token, stream);
      expect(first.headers.get("content-type")).toBe("text/event-stream");
      expect(first.text.match(/^event: .*$/gm)).toEqual([
        "event: turn.event",
        "event: turn.event",
        "event: turn.event",
        "event: turn.result",
      ]);
      const second = await send("/v1/turns", body, token, stream);
      expect(second.text).toBe(first.text);
      const plain = await send("/v1/turns", body);
      expect(first.text).toContain(`event: turn.result\ndata: ${plain.text}\n`);
      expect(second.headers.get(replayed)).toBe("true");
      expect(effectsIn(folder).filter((line) => line === "streamed")).toHaveLength(1);
    });

    test("two tenants that use the same ids never meet", async () => {
      const other = await makeEffectTenant(host, { tenant: "globex" });
      const body = appendCall("both tenants", "trace");
      const answers = [await send("/v1/tools/invoke", body), await send("/v1/tools/invoke", body, other)];
      for (const answer of answers) {
        expect(answer.body).toMatchObject({ status: "succeeded" });
        expect(answer.headers.has(replayed)).toBe(false);
      }
      expect(effectsIn(folder).filter((line) => line === "both tenants")).toHaveLength(2);
    });

    test("after a restart results are still there, and what was cut off says so", async () => {
      const done = await send("/v1/tools/invoke", appendCall("stored", "trace"));
      const cut = appendCall("cut", "trace", { until: "never" });
      const lost = send("/v1/tools/invoke", cut).catch(() => "lost");
      await eventually(() => expect(effectsIn(folder)).toContain("cut"));
      await host.stop("SIGKILL");
      expect(await lost).toBe("lost");

      host = await startEffectHost(folder, place);
      const again = await send("/v1/tools/invoke", appendCall("stored", "trace"));
      expect([again.text, again.headers.get(replayed)]).toEqual([done.text, "true"]);
      const isInterrupted = async (): Promise<void> => {
        const interrupted = await send("/v1/tools/invoke", cut);
        expect(interrupted.status).toBe(409);
        expect(interrupted.body).toMatchObject({ error: { code: "replay_interrupted" } });
      };
      // A database server takes its time to notice that a process is gone.
      await eventually(isInterrupted);
      await isInterrupted();
      const conflict = await send("/v1/tools/invoke", appendCall("cut", "trace"));
      expect(conflict.body).toMatchObject({ error: { code: "replay_conflict" } });
      expect(effectsIn(folder).filter((line) => line === "cut")).toHaveLength(1);
    });
  });
}
