import { expect, test, vi } from "vitest";
import { openPage } from "../../test/page.ts";

/** Something that another tab changed in the storage that it shares with this one. */
function storageEvent(key: string): Event {
  return Object.assign(new Event("storage"), { key });
}

test("the page's half is found again after a reload, and by other tabs", async () => {
  const { stored } = openPage();
  const first = await import("./session.ts");
  first.pageHalf.write("half");
  expect([first.pageHalf.read(), Object.fromEntries(stored)]).toEqual(["half", { "turnpike-session": "half" }]);
  vi.resetModules();
  const again = await import("./session.ts");
  expect(again.pageHalf.read()).toBe("half");
  stored.set("turnpike-session", "of another tab");
  expect(first.pageHalf.read()).toBe("of another tab");
});

test("in a browser that stores nothing the half lasts as long as the page", async () => {
  openPage();
  const deny = (): never => {
    throw new DOMException("denied", "SecurityError");
  };
  vi.stubGlobal("localStorage", { getItem: deny, setItem: deny });
  const { pageHalf } = await import("./session.ts");
  expect(pageHalf.read()).toBe("");
  pageHalf.write("half");
  expect(pageHalf.read()).toBe("half");
});

test("a change by another tab is told, what else is stored is not, and nothing after it is no longer wanted", async () => {
  const { events } = openPage();
  const { pageHalf } = await import("./session.ts");
  let told = 0;
  const stop = pageHalf.onChange(() => void (told += 1));
  events.dispatchEvent(storageEvent("else"));
  expect(told).toBe(0);
  events.dispatchEvent(storageEvent("turnpike-session"));
  expect(told).toBe(1);
  stop();
  events.dispatchEvent(storageEvent("turnpike-session"));
  expect(told).toBe(1);
});
