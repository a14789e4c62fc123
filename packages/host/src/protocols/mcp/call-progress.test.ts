import { describe, expect, test } from "vitest";
import type { ToolProgress } from "turnpike/kernel";
import { eventually } from "../../../test/host-calls.ts";
import { servedWorld, type ServedWorld } from "../../../test/mcp/endpoint.ts";
import { connectClient, now } from "../../../test/mcp/servers.ts";

const url = "http://turnpike.test/mcp";

/** A world in which every call reports this progress, and then waits to be released. */
function reportingWorld(reports: readonly ToolProgress[], resume: Promise<void> = Promise.resolve()): ServedWorld {
  return servedWorld({
    changeApi: (api) => ({
      ...api,
      async invokeTool(_context, { id: callId, tool }, options) {
        for (const report of reports) options?.onProgress?.(report);
        await resume;
        return { status: "succeeded", callId, tool, completedAt: now, output: { done: true } };
      },
    }),
  });
}

for (const mode of ["legacy", "auto"] as const) {
  describe(`a client of the ${mode === "legacy" ? "older" : "newer"} protocol that waits for a call`, () => {
    const call = { name: "notes_read", arguments: {} };

    test("is told how far it has come while it runs", async () => {
      let resume = (): void => {};
      const world = reportingWorld(
        [{ progress: 1 }, { progress: 2.5, total: 4, message: "half of it" }],
        new Promise((resolve) => (resume = resolve)),
      );
      const client = await connectClient(url, "assistant", { mode, serve: world.serve });
      const told: unknown[] = [];
      const result = client.callTool(call, { onprogress: (progress) => told.push(progress) });
      await eventually(() =>
        expect(told).toEqual([{ progress: 1 }, { progress: 2.5, total: 4, message: "half of it" }]),
      );
      resume();
      expect(await result).toMatchObject({ structuredContent: { done: true } });
    });

    test("is told of progress that increases, and of so much alone", async () => {
      const many = Array.from({ length: 3000 }, (_, place) => ({ progress: place + 10 }));
      const world = reportingWorld([{ progress: 5 }, { progress: 5 }, { progress: 4 }, ...many]);
      const client = await connectClient(url, "assistant", { mode, serve: world.serve });
      const told: number[] = [];
      await client.callTool(call, { onprogress: ({ progress }) => told.push(progress) });
      expect(told).toEqual([5, ...many.slice(0, 999).map(({ progress }) => progress)]);
    });
  });
}

test("a call without a token is told nothing, and answered in one piece of JSON where the protocol has that", async () => {
  const world = reportingWorld([{ progress: 1 }]);
  const types: (string | null)[] = [];
  const serve = async (request: Request): Promise<Response> => {
    const response = await world.serve(request);
    types.push(response.headers.get("content-type"));
    return response;
  };
  const client = await connectClient(url, "assistant", { mode: "auto", serve });
  await client.callTool({ name: "notes_read", arguments: {} });
  expect(types.at(-1)).toBe("application/json");
  await client.callTool({ name: "notes_read", arguments: {} }, { onprogress: () => {} });
  expect(types.at(-1)).toBe("text/event-stream");
});
