// Takes the place of a model: needs no key and no network. It reads the list and the diary, and says what it was told.
import { AIMessage, fakeModel } from "langchain";

export function standInModel() {
  const calls = ["notes/todo.md", "private/diary.md"].map((path) => ({
    type: "tool_call",
    id: crypto.randomUUID(),
    name: "read_file",
    args: { path },
  }));
  return fakeModel()
    .respond(new AIMessage({ content: "", tool_calls: calls }))
    .respond((messages) => {
      const told = messages.filter((message) => message.getType() === "tool");
      return new AIMessage(told.map(({ content }) => content).join("\n"));
    });
}
