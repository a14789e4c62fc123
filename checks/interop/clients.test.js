import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { clients } from "./clients.js";
import { startWorld } from "./world.js";

let world;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

const offered = (tool) => `mcp_governed_${tool}`;
const until = { timeout: 60_000, interval: 50 };

for (const { name, hasProgress, cannotCancelOver, ...ways } of clients) {
  for (const way of ["http", "stdio"]) {
    describe(`${name} over ${way}`, () => {
      const connect = async () => {
        const client = ways[way](world);
        onTestFinished(() => client.close());
        await client.connect();
        return client;
      };

      test("lists what the credential may use, calls it, and reads why it may not do something else", async () => {
        const client = await connect();
        const names = await client.list();
        expect(names).toContain(offered("echo"));
        expect(names).not.toContain(offered("forbidden"));
        expect(names.filter((one) => !/^[a-zA-Z0-9_-]{1,64}$/.test(one))).toEqual([]);

        const heard = await client.call(offered("echo"), { words: "hello there" });
        expect(heard).toMatchObject({ isError: false, text: expect.stringContaining("hello there") });
        const refused = await client.call(offered("restricted"), { place: "elsewhere" });
        expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("no_matching_grant") });
        const failed = await client.call(offered("test_error_handling"), {});
        expect(failed).toMatchObject({ isError: true, text: expect.stringContaining("It went wrong on purpose.") });
      });

      if (cannotCancelOver === way) {
        test("ends its calls by leaving", async () => {
          const client = await connect();
          const mark = randomUUID();
          const ended = client.call(offered("wait"), { mark }).catch(() => "left");
          await vi.waitUntil(() => world.diary().includes(`${mark} begun`), until);
          await client.close();
          await vi.waitUntil(() => world.diary().includes(`${mark} cancelled`), until);
          expect(await ended).toBe("left");
        });
      } else {
        test("cancels its own call, and nothing else", async () => {
          const client = await connect();
          const [mine, other] = [randomUUID(), randomUUID()];
          const leave = new AbortController();
          const stay = new AbortController();
          await client.list();
          const left = client.call(offered("wait"), { mark: mine }, { signal: leave.signal });
          const stays = client.call(offered("wait"), { mark: other }, { signal: stay.signal });
          const ends = Promise.allSettled([left, stays]);
          await vi.waitUntil(() => [mine, other].every((mark) => world.diary().includes(`${mark} begun`)), until);
          leave.abort();
          expect(
            await Promise.race([
              left.then(
                () => "done",
                () => "left",
              ),
              stays,
            ]),
          ).toBe("left");
          await vi.waitUntil(() => world.diary().includes(`${mine} cancelled`), until);
          expect(world.diary()).not.toContain(`${other} cancelled`);
          stay.abort();
          await ends;
          await vi.waitUntil(() => world.diary().includes(`${other} cancelled`), until);
        });
      }

      if (hasProgress) {
        test("gets the progress of a call while it runs", async () => {
          const client = await connect();
          await client.list();
          const seen = [];
          const onProgress = ({ progress, total }) => seen.push([progress, total]);
          const mark = randomUUID();
          const done = client.call(offered("test_tool_with_progress"), { mark }, { onProgress });
          await vi.waitUntil(() => seen.length === 3, until);
          world.note(`${mark} seen`);
          expect((await done).text).toContain("Done.");
          expect(seen).toEqual([
            [0, 100],
            [50, 100],
            [100, 100],
          ]);
        });
      }
    });
  }
}
