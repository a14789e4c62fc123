import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function placeAt(pathname: string) {
  vi.stubGlobal("location", { origin: "http://host.test", pathname, search: "" });
  vi.stubGlobal("addEventListener", () => {});
  return (await import("./place.ts")).place.value;
}

test("an address names a tenant, a screen and what is on it", async () => {
  expect(await placeAt("/console/a%2Fb/turns/t1")).toMatchObject({ tenant: "a/b", screen: "turns", rest: ["t1"] });
});

for (const pathname of ["/console/%zz", "/console/demo/%zz", "/console/demo/turns/%"]) {
  test(`the address ${pathname} cannot be read, and is no other place`, async () => {
    expect(await placeAt(pathname)).toMatchObject({ isBroken: true, tenant: undefined, screen: "", rest: [] });
  });
}

/** A browser's history, as far as it is used. */
async function openPlace(pathname: string) {
  const steps: { to: string; state: unknown }[] = [{ to: pathname, state: null }];
  const listeners = new Map<string, (event: Event) => void>();
  const location = { origin: "http://host.test", pathname, search: "" };
  const show = (to: string): void => {
    const { pathname: path, search } = new URL(to, location.origin);
    Object.assign(location, { pathname: path, search });
  };
  const history = {
    get state() {
      return steps.at(-1)?.state;
    },
    pushState(state: unknown, _title: string, to: string) {
      steps.push({ to, state });
      show(to);
    },
    replaceState(state: unknown, _title: string, to: string) {
      steps.splice(-1, 1, { to, state });
      show(to);
    },
  };
  vi.stubGlobal("location", location);
  vi.stubGlobal("history", history);
  vi.stubGlobal("scrollTo", () => {});
  vi.stubGlobal("addEventListener", (name: string, listener: (event: Event) => void) => listeners.set(name, listener));
  vi.stubGlobal("removeEventListener", (name: string) => listeners.delete(name));
  const back = (): void => {
    steps.pop();
    show(steps.at(-1)?.to ?? "");
    listeners.get("popstate")?.(new Event("popstate"));
  };
  return { ...(await import("./place.ts")), steps: () => steps.map(({ to }) => to), back, listeners };
}

test("Back goes over what was chosen, and over what was typed into a field at once", async () => {
  const { setQuery, go, place, steps, back } = await openPlace("/console/acme/trail");
  setQuery({ outcome: "denied" });
  for (const text of ["n", "no", "not"]) setQuery({ text }, "typed");
  for (const actor of ["a", "ag"]) setQuery({ actor }, "typed");
  setQuery({ open: "0.1" });
  go("/console/acme/trail?outcome=denied&text=not&actor=ag&open=0.1");
  expect(steps()).toEqual([
    "/console/acme/trail",
    "/console/acme/trail?outcome=denied",
    "/console/acme/trail?outcome=denied&text=not",
    "/console/acme/trail?outcome=denied&text=not&actor=ag",
    "/console/acme/trail?outcome=denied&text=not&actor=ag&open=0.1",
  ]);
  back();
  back();
  expect([...place.value.query.keys()]).toEqual(["outcome", "text"]);
  go("/console/acme/now", "replace");
  expect(steps()).toEqual(["/console/acme/trail", "/console/acme/trail?outcome=denied", "/console/acme/now"]);
});

test("what must not be lost is not left: not by a link, not by Back, and not with the page, until it is let go", async () => {
  const { holdPlace, go, setQuery, place, steps, back, listeners } = await openPlace("/console/acme/now");
  go("/console/acme/access");
  let asked = 0;
  const letGo = holdPlace(() => void (asked += 1));
  go("/console/acme/now");
  setQuery({ all: "yes" });
  back();
  expect([asked, place.value.screen, steps()]).toEqual([3, "access", ["/console/acme/now", "/console/acme/access"]]);
  const leaving = new Event("beforeunload", { cancelable: true });
  listeners.get("beforeunload")?.(leaving);
  expect(leaving.defaultPrevented).toBe(true);
  letGo();
  back();
  expect([asked, place.value.screen, listeners.has("beforeunload")]).toEqual([3, "now", false]);
});
