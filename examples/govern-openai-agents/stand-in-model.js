// Takes the place of a model: needs no key and no network. It reads the list and the diary, and says what it was told.
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from "@openai/agents/testing";

export function standInModel() {
  const paths = ["notes/todo.md", "private/diary.md"];
  return new ScriptedModel([
    modelResponder(() => paths.map((path) => functionCall("read_file", { path }, { callId: crypto.randomUUID() }))),
    modelResponder(({ request }) => {
      const told = request.input.filter(({ type }) => type === "function_call_result");
      return [assistantMessage(told.map(({ output }) => output.text ?? output).join("\n"))];
    }),
  ]);
}
