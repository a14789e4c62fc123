import { expect, test } from "vitest";
import { itemsAt } from "../../../../tests/support/size.ts";
import { answerOf, exchanges, httpWorldOf, requestFor } from "../../test/http.ts";
import { around, hole, hostileParts, leastCpuMs, maxCpuMs } from "../../test/hostile-bodies.ts";

const { authorize, updateToolNamespaces, invokeTool, invokeResource, sendMessage, executeTurn } = exchanges;
const provenance = { source: "inbox", parentIds: ["message-0"] };

/** `takes`: what may be there. The operation is then carried out, whatever becomes of it. */
const places: { name: string; method: string; path: string; body: unknown; takes?: "JSON" | "an object" }[] = [
  { name: "as the body", ...authorize, body: hole },
  { name: "as an unknown key", ...authorize, body: { ...authorize.body, more: hole } },
  { name: "as a path", ...authorize, body: { action: "read", resource: { namespace: "files", path: hole } } },
  { name: "as a segment", ...authorize, body: { action: "read", resource: { namespace: "files", path: [hole] } } },
  { name: "as names to switch on", ...updateToolNamespaces, body: { enable: hole } },
  { name: "as an id", ...invokeTool, body: { ...invokeTool.body, id: hole } },
  { name: "as a time", ...invokeTool, body: { ...invokeTool.body, requestedAt: hole } },
  { name: "as arguments", ...invokeTool, body: { ...invokeTool.body, arguments: hole }, takes: "an object" },
  { name: "as input", ...invokeResource, body: { ...invokeResource.body, input: hole }, takes: "JSON" },
  { name: "as payload", ...sendMessage, body: { ...sendMessage.body, payload: hole }, takes: "JSON" },
  { name: "as a principal", ...sendMessage, body: { ...sendMessage.body, sender: hole } },
  { name: "as a source", ...sendMessage, body: { ...sendMessage.body, provenance: { ...provenance, source: hole } } },
  { name: "as parents", ...sendMessage, body: { ...sendMessage.body, provenance: { ...provenance, parentIds: hole } } },
  { name: "as metadata", ...executeTurn, body: { ...executeTurn.body, metadata: { any: hole } }, takes: "JSON" },
  { name: "as options", ...executeTurn, body: { ...executeTurn.body, options: hole } },
];

for (const [index, { takes, ...place }] of places.entries()) {
  test(`${place.method} ${place.path} is cheap to answer, whatever comes ${place.name}`, async () => {
    for (const { name, text, fits } of itemsAt(index, hostileParts)) {
      const body = around(place.body, text);
      const answers: Awaited<ReturnType<typeof answerOf>>[] = [];
      const spent = await leastCpuMs(async () =>
        answers.push(await answerOf(await httpWorldOf().handler(requestFor({ ...place, body })))),
      );
      const isTaken = fits && (takes === "JSON" || (takes === "an object" && text.startsWith("{")));
      const { error } = (answers[0]?.body ?? {}) as { error?: { message: string } };
      expect({
        name,
        isLegalSize: body.length <= 2 ** 20,
        isCheap: spent < maxCpuMs,
        status: answers[0]?.status,
        isBrief: (error?.message ?? "").length < 600,
      }).toEqual({ name, isLegalSize: true, isCheap: true, status: isTaken ? 200 : 400, isBrief: true });
    }
  });
}
