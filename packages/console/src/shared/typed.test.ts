import { expect, test } from "vitest";
import { openPage, renderHook, settle } from "../../test/page.ts";

const typedOf = ([typed]: readonly [object, unknown]): object => typed;

test("what is typed stays until the address asks for something else, and is gone at once then", async () => {
  openPage();
  const { useTyped } = await import("./typed.ts");
  const { outputs, now, show } = await renderHook(useTyped<{ text: string; tool: string }>, { text: "", tool: "" });
  now()[1]({ text: "a" });
  now()[1]({ tool: "b" });
  await settle();
  expect(typedOf(now())).toEqual({ text: "a", tool: "b" });
  await show({ text: "", tool: "" });
  expect(typedOf(now())).toEqual({ text: "a", tool: "b" });
  const before = outputs.length;
  await show({ text: "asked", tool: "" });
  // A field that is left while the page changes must not send what was typed before.
  expect(outputs.slice(before).map(typedOf)).toEqual(outputs.slice(before).map(() => ({ text: "asked", tool: "" })));
  // Nor what was typed when the address was the same the last time.
  await show({ text: "", tool: "" });
  expect(outputs.slice(before).map(typedOf)).not.toContainEqual({ text: "a", tool: "b" });
  expect(typedOf(now())).toEqual({ text: "", tool: "" });
  await show({ text: "asked", tool: "" });
  now()[1]({ tool: "c" });
  await settle();
  expect(typedOf(now())).toEqual({ text: "asked", tool: "c" });
});
