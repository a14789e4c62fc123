import { expect, test } from "vitest";
import { itemsAt } from "../../../../../tests/support/size.ts";
import { around, hole, hostileParts, leastCpuMs, maxCpuMs } from "../../../../turnpike/test/hostile-bodies.ts";
import { postMcp, servedWorld } from "../../../test/mcp/endpoint.ts";

const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

const rows = [
  { name: "message", body: hole },
  { name: "parameters", body: { ...list, params: hole } },
  { name: "arguments", body: { ...list, method: "tools/call", params: { name: "notes.read", arguments: hole } } },
  { name: "cursor", body: { ...list, method: "resources/list", params: { cursor: hole } } },
  { name: "id", body: { ...list, id: hole } },
];

for (const [index, row] of rows.entries()) {
  test(`a message is cheap to answer, whatever its ${row.name}`, async () => {
    const world = servedWorld();
    for (const { name, text } of itemsAt(index, hostileParts)) {
      const spent = await leastCpuMs(async () => (await postMcp(world, around(row.body, text))).text());
      expect([name, spent < maxCpuMs]).toEqual([name, true]);
    }
  });
}
