import { useEffect, useState } from "preact/hooks";
import { may } from "./shared/api.ts";
import { place } from "./shared/place.ts";
import { pageHalf, session } from "./shared/session.ts";
import { Link } from "./parts/link.tsx";
import { Empty } from "./parts/states.tsx";
import { screens } from "./screens/screens.ts";
import { begin, followSession } from "./shell/begin.ts";
import { chooseView } from "./shell/choose-view.ts";
import { KnownTenant } from "./shell/known-tenant.tsx";
import { Shell } from "./shell/shell.tsx";
import { SignIn, SignInAgain } from "./shell/sign-in.tsx";
import { TenantChoice } from "./shell/tenant-choice.tsx";

/** The whole page: a sign-in, a choice of tenant, or a screen in its frame. */
export function App() {
  const [isStarting, setStarting] = useState(true);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    void begin()
      .then(setProblem)
      .then(() => setStarting(false));
    return pageHalf.onChange(() => void followSession());
  }, []);
  if (isStarting) return <div class="loading page-loading" role="status" aria-label="Loading the console" />;
  if (session.current.value === undefined) return <SignIn problem={problem} />;
  return (
    <>
      <Chosen />
      {session.isLost.value && <SignInAgain />}
    </>
  );
}

/** What the address shows. */
function Chosen() {
  const view = chooseView(place.value, screens, may);
  switch (view.kind) {
    case "tenants":
      return <TenantChoice />;
    case "unreadable":
      return (
        <main class="entrance">
          <NoView title="No such screen" text="This address cannot be read." />
          <Link to="/console/">Choose a tenant</Link>
        </main>
      );
    case "unknown":
      return (
        <Shell>
          <NoView title="No such screen" text="The menu has those that there are." />
        </Shell>
      );
    case "forbidden":
      return (
        <Shell>
          <NoView title="Not for your role" text="An admin can give you another one." />
        </Shell>
      );
    case "screen": {
      const { View } = view.screen;
      return (
        <Shell>
          {/* A tenant has screens of its own: nothing that was read or typed in one is seen in another. */}
          <KnownTenant key={place.value.tenant}>
            <View />
          </KnownTenant>
        </Shell>
      );
    }
  }
}

function NoView({ title, text }: { title: string; text: string }) {
  return (
    <>
      <h1>{title}</h1>
      <Empty title={text} />
    </>
  );
}
