import { expect, test } from "vitest";
import { roomOf, splitWaiting, sumTimes, timeByRoom, type CpuProfile } from "./profile.ts";

const at = (path: string): string => `file:///srv/app/${path}`;

for (const row of [
  { room: "host/front", url: at("packages/host/dist/front/node-server.js") },
  { room: "turnpike/kernel", url: at("packages/turnpike/dist/kernel/decide.js") },
  { room: "kysely", url: at("node_modules/kysely/dist/esm/query.js") },
  { room: "@scope/name", url: at("node_modules/a/node_modules/@scope/name/index.js") },
  { room: "node", url: "node:internal/streams/readable" },
  { room: "garbage collector", url: "", functionName: "(garbage collector)" },
  { room: "native", url: "", functionName: "writev" },
  { room: "other", url: at("packages/host/bin/turnpike.js") },
]) {
  test(`${row.functionName ?? row.url} is ${row.room}`, () => {
    expect(roomOf({ functionName: "run", ...row })).toBe(row.room);
  });
}

/** root -> front -> node -> kernel -> libsql, and beside them idle time and a callback of a package. */
const profile: CpuProfile = {
  nodes: [
    { id: 1, callFrame: { functionName: "(root)", url: "" }, children: [2, 6, 7] },
    { id: 2, callFrame: { functionName: "serve", url: at("packages/host/dist/front/a.js") }, children: [3] },
    { id: 3, callFrame: { functionName: "emit", url: "node:events" }, children: [4] },
    { id: 4, callFrame: { functionName: "decide", url: at("packages/turnpike/dist/kernel/b.js") }, children: [5] },
    { id: 5, callFrame: { functionName: "run", url: at("node_modules/libsql/index.js") } },
    { id: 6, callFrame: { functionName: "(idle)", url: "" } },
    { id: 7, callFrame: { functionName: "then", url: at("node_modules/kysely/index.js") } },
  ],
  startTime: 1000,
  //        1010 1030 1060 1100 1150 1210 1280
  samples: [2, 3, 4, 5, 6, 7, 2],
  timeDeltas: [10, 20, 30, 40, 50, 60, 70],
};
const always = { from: 0, until: 10_000 };

test("a sample counts until the next one, for the room of its own file", () => {
  expect(Object.fromEntries(timeByRoom(profile, always).self)).toEqual({
    "host/front": 20,
    node: 30,
    "turnpike/kernel": 40,
    libsql: 50,
    kysely: 70,
  });
});

test("what node and packages do is charged to the nearest room of ours that called them", () => {
  expect(Object.fromEntries(timeByRoom(profile, always).charged)).toEqual({
    "host/front": 50,
    "turnpike/kernel": 90,
    "called by no room of ours": 70,
  });
});

test("only samples within the window count", () => {
  const { self } = timeByRoom(profile, { from: 1030, until: 1100 });
  expect(Object.fromEntries(self)).toEqual({ node: 30, "turnpike/kernel": 40 });
});

test("the profiles of several threads add up", () => {
  const one = timeByRoom(profile, always);
  expect(sumTimes([one, one]).self.get("libsql")).toBe(100);
});

test("what the clock has beyond the processor's time is the driver's waiting, and no more than all of that", () => {
  const self = new Map([
    ["kernel", 100],
    ["libsql", 300],
  ]);
  expect(splitWaiting(self, "libsql", 150)).toEqual(new Map([...self, ["libsql", 50], ["waiting for the disk", 250]]));
  expect(splitWaiting(self, "libsql", 20)).toEqual(new Map([...self, ["libsql", 0], ["waiting for the disk", 300]]));
  expect(splitWaiting(self, "libsql", 500)).toEqual(self);
});
