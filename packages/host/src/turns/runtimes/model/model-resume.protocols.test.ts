import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, says, triedProviders } from "../../../../test/model-server.ts";
import { agent, capability, grantOf, noteTool, runAgent } from "../../../../../turnpike/test/deployment.ts";
import { dataOf, endingAt } from "../../../../../turnpike/test/turns.ts";
import { TurnPause, type TurnJournal } from "../../../../../turnpike/src/runtime/index.ts";
import { memoryTurnJournal } from "../../../../../turnpike/src/testing/index.ts";

const key = { namespaceId: "demo", actor: agent, executionId: "turn-1" };
const grants = [
  grantOf("run", { capabilities: [runAgent] }),
  grantOf("today", { capabilities: [capability("files", ["notes", "today"], "read")] }),
];
const script = [
  // Nothing of the first reply reaches the gate: one decision takes two requests.
  callsTools({ id: "zero", name: "files_read", arguments: "no object" as never }),
  {
    ...callsTools(
      { id: "one", name: "files_read", arguments: { note: "today" } },
      { id: "two", name: "files_read", arguments: { note: "diary" } },
    ),
    text: ["Let me look."],
  },
  callsTools({ id: "three", name: "files_read", arguments: { note: "today" } }),
  says("Bread and tea."),
];

describe.each(triedProviders)("a turn with a model of %s whose process ends", (provider) => {
  test("resumes wherever it ended: the model is asked nothing twice that is stored, and told the same", async () => {
    const whole = await modelWorldOf(provider, script, { world: { grants, tools: [noteTool()] } });
    const expected = await whole.run();
    expect(expected).toMatchObject({ status: "succeeded", output: "Bread and tea." });

    for (let nth = 2, isOver = false; !isOver; nth += 1) {
      const journal = memoryTurnJournal();
      const open = (through: TurnJournal, from = 0) =>
        modelWorldOf(provider, script.slice(from), {
          world: { grants, tools: [noteTool()], executor: { journal: through, createId: () => crypto.randomUUID() } },
        });
      const first = await open(endingAt(journal, nth));
      const ran = await first.run({}, { isAsync: true }).catch((error: unknown) => error);
      isOver = !(ran instanceof TurnPause);
      const writer = isOver ? undefined : journal.take(key);
      const decided = writer?.stored.filter(({ kind }) => kind === "step").length ?? 3;
      // The first decision takes two requests.
      const asked = decided === 0 ? 0 : decided + 1;
      const next = await open(journal, asked);
      if (writer !== undefined) await next.run({}, { isAsync: true, writer });

      const { result } = (await journal.find(key)) ?? {};
      expect(result).toMatchObject({ status: "succeeded", output: "Bread and tea.", metadata: expected.metadata });
      const later = next.server.requests.map(({ messages }) => messages);
      expect(later).toStrictEqual(whole.server.requests.slice(asked).map(({ messages }) => messages));
      expect(dataOf(result ?? { events: [] }, "tool.requested")).toHaveLength(3);
    }
  });
});
