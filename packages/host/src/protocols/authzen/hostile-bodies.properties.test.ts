import { describe, expect, test } from "vitest";
import { itemsAt } from "../../../../../tests/support/size.ts";
import { around, hole, hostileParts, leastCpuMs, maxCpuMs } from "../../../../turnpike/test/hostile-bodies.ts";
import { openDecisionPoint } from "../../../test/authzen.ts";

const readsRecord = {
  subject: { type: "human", id: "alice" },
  action: { name: "read" },
  resource: { type: "record", id: "record-1" },
};

describe("a body that would like to cost much", () => {
  const bodies = {
    subject: { ...readsRecord, subject: hole },
    "the id of a subject": { ...readsRecord, subject: { type: "human", id: hole } },
    "the name of an action": { ...readsRecord, action: { name: hole } },
    "the id of a resource": { ...readsRecord, resource: { type: "record", id: hole } },
    context: { ...readsRecord, context: hole },
    "an owner": { ...readsRecord, context: { owner: hole } },
    evaluations: { ...readsRecord, evaluations: hole },
    "an evaluation": { ...readsRecord, evaluations: [hole] },
    "the id of a resource that 256 evaluations share": {
      ...readsRecord,
      resource: { type: "record", id: hole },
      evaluations: Array.from({ length: 256 }, (_, place) => (place % 2 ? { resource: { id: "x" } } : {})),
    },
    options: { ...readsRecord, options: hole, evaluations: [{}] },
  };
  const slashes = { name: "a megabyte of slashes", text: `"${"a/".repeat(500_000)}a"` };
  const escapes = { name: "a megabyte of percents", text: `"${"%61".repeat(340_000)}"` };
  for (const [index, [place, body]] of Object.entries(bodies).entries()) {
    test(`costs little as ${place}`, async () => {
      const { post } = openDecisionPoint({ perSecond: 1e9, burst: 1e9 });
      for (const { name, text } of itemsAt(index, [...hostileParts, slashes, escapes])) {
        const spent = await leastCpuMs(async () =>
          (await post("gateway", "/access/v1/evaluations", around(body, text))).text(),
        );
        expect([name, spent < maxCpuMs]).toEqual([name, true]);
      }
    });
  }
});
