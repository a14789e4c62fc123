import type { PersonSession } from "turnpike-host/admin-contract";
import { nameText, principalText } from "turnpike-host/display";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../parts/states.tsx";
import { beginSession, change, listProviders } from "./person-api.ts";
import { Connections, OwnLog, Questions, Sessions } from "./person-parts.tsx";
import { textOf } from "./use-asked.ts";

type View =
  | { kind: "starting" }
  | { kind: "stranger"; providers: readonly string[]; problem?: string }
  | { kind: "person"; session: PersonSession };

/** A person's own page: where they sign in, or what acts for them. */
export function PersonPage() {
  const [view, setView] = useState<View>({ kind: "starting" });
  const start = async (): Promise<void> => {
    let problem: string | undefined;
    const session = await beginSession().catch((error: unknown) => void (problem = textOf(error)));
    if (session !== undefined) return setView({ kind: "person", session });
    setView({ kind: "stranger", providers: await listProviders(), ...(problem !== undefined && { problem }) });
  };
  useEffect(() => void start(), []);
  switch (view.kind) {
    case "starting":
      return <div class="loading page-loading" role="status" aria-label="Loading your page" />;
    case "stranger":
      return <Entrance {...view} />;
    case "person":
      return <Parts session={view.session} onSignOut={() => void change.signOut().then(start)} />;
  }
}

function Entrance({ providers, problem }: { providers: readonly string[]; problem?: string }) {
  return (
    <main class="entrance">
      <h1>What acts for you</h1>
      {problem !== undefined && <Problem text={problem} />}
      {providers.length === 0 && <p class="hint">This host signs no people in.</p>}
      {providers.map((name) => (
        <a key={name} class="button main" href={`/sign-in?to=/me&provider=${encodeURIComponent(name)}`}>
          Continue with {nameText(name)}
        </a>
      ))}
    </main>
  );
}

function Parts({ session, onSignOut }: { session: PersonSession; onSignOut: () => void }) {
  return (
    <main class="me">
      <header>
        <div>
          <h1>What acts for you</h1>
          <p class="hint">
            You are {principalText(session.principal)} in {nameText(session.tenant)}.
          </p>
        </div>
        <button type="button" class="button" onClick={onSignOut}>
          Sign out
        </button>
      </header>
      <Questions />
      <Connections />
      <OwnLog />
      <Sessions />
    </main>
  );
}
