import { useEffect, useState } from "preact/hooks";
import { AdminClientError } from "turnpike-host/management/call";
import { may, messageOf, request, signIn } from "./base/api.ts";
import { place } from "./base/place.ts";
import { pageHalf, session } from "./base/session.ts";
import { Link } from "./parts/link.tsx";
import { Empty } from "./parts/states.tsx";
import { screens } from "./screens/screens.ts";
import { KnownTenant } from "./shell/known-tenant.tsx";
import { codeInAddress } from "./shell/one-time-code.ts";
import { Shell } from "./shell/shell.tsx";
import { SignIn, SignInAgain } from "./shell/sign-in.tsx";
import { TenantChoice } from "./shell/tenant-choice.tsx";

/** The whole page: a sign-in, a choice of tenant, or a screen in its frame. */
export function App() {
  const [state, setState] = useState<"starting" | "ready">("starting");
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    void begin()
      .then(setProblem)
      .then(() => setState("ready"));
    return pageHalf.onChange(() => void followSession());
  }, []);
  if (state === "starting") return <div class="loading page-loading" role="status" aria-label="Loading the console" />;
  if (session.current.value === undefined) return <SignIn problem={problem} />;
  const { tenant, screen, rest, isBroken } = place.value;
  const again = session.isLost.value && <SignInAgain />;
  if (tenant === undefined)
    return (
      <>
        {isBroken ? (
          <main class="entrance">
            <NoView title="No such screen" text="This address cannot be read." />
            <Link to="/console/">Choose a tenant</Link>
          </main>
        ) : (
          <TenantChoice />
        )}
        {again}
      </>
    );
  const { View, needs, steps = Infinity } = screens.find(({ name }) => name === screen) ?? {};
  return (
    <>
      <Shell>
        {View === undefined || needs === undefined || rest.length > steps ? (
          <NoView title="No such screen" text="The menu has those that there are." />
        ) : may(needs) ? (
          // A tenant has screens of its own: nothing that was read or typed in one is seen in another.
          <KnownTenant key={tenant}>
            <View />
          </KnownTenant>
        ) : (
          <NoView title="Not for your role" text="An admin can give you another one." />
        )}
      </Shell>
      {again}
    </>
  );
}

function NoView({ title, text }: { title: string; text: string }) {
  return (
    <>
      <h1>{title}</h1>
      <Empty title={text} />
    </>
  );
}

/** Finds out who is there: by the one-time code in the address, or by the session there is. Returns what to tell them. */
async function begin(): Promise<string | undefined> {
  const code = codeInAddress();
  let problem: string | undefined;
  try {
    if (code !== undefined) await signIn({ code });
  } catch (error) {
    // A link that is opened twice: whoever has a session already goes on with it.
    problem = messageOf(error);
  }
  try {
    session.current.value ??= await request("readSession", {});
  } catch (error) {
    const isNobody = error instanceof AdminClientError && error.code === "unauthenticated";
    problem ??= isNobody ? undefined : messageOf(error);
  }
  session.isLost.value = false;
  return problem;
}

/** Another tab has signed in or out, so the session is another one here as well. */
async function followSession(): Promise<void> {
  try {
    session.current.value = await request("readSession", {});
    session.isLost.value = false;
  } catch {
    // The sign-in is asked for where a session was lost. A host that does not answer is asked again by what needs it.
  }
}
