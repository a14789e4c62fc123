import type { ComponentChildren } from "preact";
import { may } from "../../shared/api.ts";
import { place } from "../../shared/place.ts";
import { Tabs } from "../../parts/tabs.tsx";
import { DeriveView, IssueView, RevokeView } from "./change-views.tsx";
import { EverView } from "./ever-view.tsx";
import { GrantBoard } from "./grant-board.tsx";
import { ReachView, WhoView } from "./reach-views.tsx";
import { RulesView } from "./rules-view.tsx";

/** Who was given what by whom; and giving, passing on and taking back. */
export function GrantsScreen() {
  const { tenant = "", rest } = place.value;
  const [what, verb] = rest;
  const views = [
    { name: "who", title: "Who can reach…" },
    { name: "reach", title: "What can a principal reach" },
    { name: "ever", title: "Who could ever…" },
    { name: "rules", title: "Rules" },
    ...(may("createGrant") ? [{ name: "issue", title: "Issue a grant" }] : []),
  ];
  const tabs = views.map(({ name, title }) => ({ title, to: ["grants", name], isCurrent: name === what }));
  const isAll = !tabs.some(({ isCurrent }) => isCurrent);
  return (
    <>
      <h1>Grants</h1>
      <Tabs label="About grants" tabs={[{ title: "All grants", to: ["grants"], isCurrent: isAll }, ...tabs]} />
      {viewOf(tenant, what, verb)}
    </>
  );
}

function viewOf(tenant: string, what: string | undefined, verb: string | undefined): ComponentChildren {
  if (what === "issue") return <IssueView />;
  if (what === "who") return <WhoView tenant={tenant} />;
  if (what === "reach") return <ReachView tenant={tenant} />;
  if (what === "ever") return <EverView tenant={tenant} />;
  if (what === "rules") return <RulesView tenant={tenant} />;
  if (what !== undefined && verb === "derive") return <DeriveView tenant={tenant} id={what} />;
  if (what !== undefined && verb === "revoke") return <RevokeView tenant={tenant} id={what} />;
  return <GrantBoard />;
}
