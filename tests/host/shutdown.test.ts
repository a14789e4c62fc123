import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds } from "../../packages/host/test/databases.ts";
import {
  appendCall,
  effectsIn,
  makeEffectTenant,
  openGate,
  placeFor,
  serveArgs,
  startEffectHost,
} from "../support/effect-host.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess } from "../support/host-process.ts";
import { listCall, makeTenant, turn } from "../support/host-world.ts";

const traced = { "x-trace-id": "t" };

for (const kind of databaseKinds) {
  describe(`SIGTERM on ${kind}`, () => {
    test("under load loses no answer and ends the command with 0", async () => {
      const folder = makeFolder();
      const args = serveArgs(
        await placeFor(kind),
        "--set",
        "limits.requestsPerSecond=100000",
        "--set",
        "limits.burst=100000",
      );
      const host = await startHostProcess({ folder, args });
      const token = await makeTenant(host);
      const answered = new Map<string, string>();
      const broken: string[] = [];
      const load = Array.from({ length: 8 }, async (_, worker) => {
        for (let place = 0; ; place += 1) {
          const id = `${worker}-${place}`;
          try {
            const answer = await ask(host.url, "/v1/tools/invoke", { token, headers: traced, body: listCall(id, "t") });
            answered.set(id, answer.text);
          } catch (error) {
            // No server listens any more, or the idle connection was closed: both before the request was taken.
            broken.push(causeOf(error));
            return;
          }
        }
      });
      await eventually(() => expect(answered.size).toBeGreaterThan(50));
      const exit = host.stop("SIGTERM");
      await Promise.all(load);
      expect(await exit).toEqual({ code: 0, signal: null });
      expect(host.stderr()).not.toContain('"level":50');
      expect(broken).toHaveLength(8);

      const again = await startHostProcess({ folder, args });
      for (const [id, text] of [...answered].slice(-100)) {
        const replay = await ask(again.url, "/v1/tools/invoke", { token, headers: traced, body: listCall(id, "t") });
        expect(replay.text).toBe(text);
        expect(replay.headers.get("idempotency-replayed")).toBe("true");
      }
      expect(await again.stop()).toEqual({ code: 0, signal: null });
    });

    test("lets what runs finish and accepts nothing new", async () => {
      const folder = makeFolder();
      const host = await startEffectHost(folder, await placeFor(kind));
      const token = await makeEffectTenant(host);
      const calls = [
        ask(host.url, "/v1/tools/invoke", { token, headers: traced, body: appendCall("tool", "t", { until: "gate" }) }),
        ask(host.url, "/v1/turns", { token, headers: traced, body: turn("turn", "t", { until: "gate" }) }),
        ask(host.url, "/v1/turns", {
          token,
          headers: { ...traced, accept: "text/event-stream" },
          body: turn("streamed", "t", { line: "streamed", until: "gate" }),
        }),
      ];
      await eventually(() => expect(effectsIn(folder)).toHaveLength(3));
      const exit = host.stop("SIGTERM");
      await eventually(() => expect(ask(host.url, "/health")).rejects.toThrow("fetch failed"));
      openGate(folder, "gate");
      const [tool, plain, streamed] = await Promise.all(calls);
      expect(tool?.body).toMatchObject({ status: "succeeded" });
      expect(plain?.body).toMatchObject({ status: "succeeded" });
      expect(streamed?.text).toMatch(/event: turn\.result\ndata: \{.*"status":"succeeded".*\}\n\n$/);
      expect(await exit).toEqual({ code: 0, signal: null });
    });

    test("cancels at the limit what never ends, and records how it ended", async () => {
      const folder = makeFolder();
      const place = await placeFor(kind);
      const host = await startEffectHost(folder, { ...place, "limits.shutdownMs": "500" });
      const token = await makeEffectTenant(host);
      const body = turn("endless", "t", { until: "never" });
      const lost = ask(host.url, "/v1/turns", { token, headers: traced, body }).catch(() => "lost");
      await eventually(() => expect(effectsIn(folder)).toHaveLength(1));
      expect(await host.stop("SIGTERM")).toEqual({ code: 0, signal: null });
      expect(await lost).toBe("lost");

      const again = await startEffectHost(folder, place);
      const replay = await ask(again.url, "/v1/turns", { token, headers: traced, body });
      expect(replay.headers.get("idempotency-replayed")).toBe("true");
      expect(replay.body).toMatchObject({ status: "cancelled", error: { code: "turn_cancelled" } });
      expect(effectsIn(folder)).toHaveLength(1);
    });

    test("cuts at the limit a tool call that never ends", async () => {
      const folder = makeFolder();
      const host = await startEffectHost(folder, { ...(await placeFor(kind)), "limits.shutdownMs": "500" });
      const token = await makeEffectTenant(host);
      const body = appendCall("endless", "t", { until: "never" });
      const lost = ask(host.url, "/v1/tools/invoke", { token, headers: traced, body }).catch(() => "lost");
      await eventually(() => expect(effectsIn(folder)).toHaveLength(1));
      expect(await host.stop("SIGTERM")).toEqual({ code: 0, signal: null });
      expect(await lost).toBe("lost");
    });
  });
}

test("SIGTERM ends the host in time although a refused Upgrade is still open", async () => {
  const args = serveArgs({}, "--set", "limits.shutdownMs=500");
  const host = await startHostProcess({ folder: makeFolder(), args });
  const { hostname, port } = new URL(host.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  socket.resume().write("GET /health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  await once(socket, "end");
  expect(await host.stop("SIGTERM")).toEqual({ code: 0, signal: null });
});

test("an SQLite database that was closed can be opened by another process at once", async () => {
  const file = join(makeFolder(), "turnpike.db");
  const module = new URL("../../packages/host/dist/storage/open-database.js", import.meta.url).href;
  const open = `const { openDatabase } = await import(${JSON.stringify(module)});
    const database = await openDatabase(${JSON.stringify(file)});
    await database.close();`;
  const openTwice = `${open}
    const { spawnSync } = await import("node:child_process");
    const second = spawnSync(process.execPath, ["--input-type=module", "-e", ${JSON.stringify(open)}], { encoding: "utf8" });
    process.stdout.write(second.stderr);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", openTwice]);
  expect(stdout).toBe("");
});

function causeOf(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
}
