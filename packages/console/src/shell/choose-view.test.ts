import { expect, test } from "vitest";
import { openPage } from "../../test/page.ts";
import { chooseView } from "./choose-view.ts";

/** What operators are shown at addresses of the screens that there are. */
async function openScreens() {
  openPage("/console/");
  const { go, place } = await import("../shared/place.ts");
  const { screens } = await import("../screens/screens.ts");
  const { session } = await import("../shared/session.ts");
  const { may } = await import("../shared/api.ts");
  return (address: string, role = "admin"): string => {
    go(`/console/${address}`);
    session.current.value = { operator: { id: "o", role } } as unknown as typeof session.current.value;
    const view = chooseView(place.value, screens, may);
    return view.kind === "screen" ? view.screen.name : view.kind;
  };
}

const addresses: readonly (readonly [address: string, shown: string])[] = [
  ["", "tenants"],
  ["%zz", "unreadable"],
  ["acme/%zz", "unreadable"],
  ["acme", "now"],
  ["acme/now", "now"],
  ["acme/now/else", "unknown"],
  ["acme/nowhere", "unknown"],
  ["acme/constructor", "unknown"],
  ["acme/questions", "questions"],
  ["acme/questions/q", "questions"],
  ["acme/questions/q/batch", "questions"],
  ["acme/questions/q/other", "unknown"],
  ["acme/questions/q/batch/more", "unknown"],
  ["acme/turns", "turns"],
  ["acme/turns/t", "turns"],
  ["acme/turns/t/more", "unknown"],
  ["acme/grants", "grants"],
  ["acme/grants/g", "grants"],
  ["acme/grants/*", "grants"],
  ["acme/grants/derive", "grants"],
  ["acme/grants/g/derive", "grants"],
  ["acme/grants/g/revoke", "grants"],
  ["acme/grants/g/other", "unknown"],
  ["acme/grants/g/*", "unknown"],
  ["acme/grants/issue", "grants"],
  ["acme/grants/who", "grants"],
  ["acme/grants/reach", "grants"],
  ["acme/grants/rules", "grants"],
  ["acme/grants/who/derive", "unknown"],
  ["acme/grants/g/revoke/more", "unknown"],
  ["acme/why", "why"],
  ["acme/why/not", "unknown"],
  ["acme/why/what-if", "why"],
  ["acme/why/what-if/revoke", "why"],
  ["acme/why/what-if/other", "unknown"],
  ["acme/trail", "trail"],
  ["acme/trail/foo", "unknown"],
  ["acme/trail/trace", "unknown"],
  ["acme/trail/trace/t", "trail"],
  ["acme/trail/foo/t", "unknown"],
  ["acme/trail/trace/t/more", "unknown"],
  ["acme/access", "access"],
  ["acme/access/operators", "access"],
  ["acme/access/c", "access"],
  ["acme/access/c/more", "unknown"],
  ["acme/access/operators/more", "unknown"],
  ["acme/webhooks", "webhooks"],
  ["acme/webhooks/w", "unknown"],
  ["acme/tools", "tools"],
  ["acme/tools/namespaces", "tools"],
  ["acme/tools/namespaces/n", "unknown"],
  ["acme/tools/servers", "tools"],
  ["acme/tools/servers/s", "tools"],
  ["acme/tools/servers/s/more", "unknown"],
  ["acme/tools/try", "tools"],
  ["acme/tools/try/it", "unknown"],
  ["acme/tools/other", "unknown"],
];

test("an address shows its screen, and one that there is not is no screen's", async () => {
  const viewAt = await openScreens();
  expect(addresses.map(([address]) => [address, viewAt(address)])).toEqual(addresses);
});

test("a screen that the operator's role may not use says so, and an unknown screen says that", async () => {
  const viewAt = await openScreens();
  expect(["acme/trail", "acme/trail/foo", "acme/questions/q"].map((address) => viewAt(address, "reviewer"))).toEqual([
    "forbidden",
    "unknown",
    "questions",
  ]);
});
