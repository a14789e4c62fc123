import { useEffect, useRef, useState } from "preact/hooks";
import { nameText } from "turnpike-host/display";
import { useAct } from "../shared/act.ts";
import { signIn } from "../shared/api.ts";
import { Form, TextField } from "../parts/fields.tsx";
import { Problem } from "../parts/states.tsx";
import { signInAddress, useProviders } from "./providers.ts";
import { Mark } from "./icons.tsx";

/** The sign-in with an operator's token. */
export function SignIn({ problem }: { problem: string | undefined }) {
  useEffect(() => {
    document.title = "Sign in · Turnpike";
  }, []);
  return (
    <main class="entrance">
      <Mark />
      <h1>Turnpike</h1>
      <p class="hint">The gate that every agent passes.</p>
      <TokenForm problem={problem} />
    </main>
  );
}

/** The same on top of the page, which stays behind it as it is: nothing that was typed there is lost. */
export function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // There is nothing to go back to without a session: Escape does not close it.
    <dialog
      ref={dialog}
      aria-label="Sign in again"
      // The key itself is taken, too: browsers close a dialog at the second Escape.
      onKeyDown={(event) => event.key === "Escape" && event.preventDefault()}
      onCancel={(event) => event.preventDefault()}
    >
      <div class="form">
        <h2>Your session has ended</h2>
        <p>What you were doing is still there behind this.</p>
        <TokenForm problem={undefined} />
      </div>
    </dialog>
  );
}

function TokenForm({ problem: first }: { problem: string | undefined }) {
  const [token, setToken] = useState("");
  const { isBusy, problem = first, run } = useAct();
  const { providers, areTokensOff } = useProviders();
  return (
    <>
      {problem !== undefined && <Problem text={problem} />}
      {providers.map((name) => (
        <a key={name} class="button main" href={signInAddress(name, globalThis.location)}>
          Continue with {nameText(name)}
        </a>
      ))}
      {!areTokensOff && (
        <>
          <Form label="Sign in" onSend={() => void run(() => signIn({ token: token.trim() }))}>
            <TextField label="Operator's token" type="password" value={token} onChange={setToken} isRequired />
            <button type="submit" class="button main" disabled={isBusy} aria-busy={isBusy}>
              Sign in
            </button>
          </Form>
          <p class="hint">
            It becomes a session of 12 hours. <code>turnpike console</code> prints a link that needs no token.
          </p>
        </>
      )}
    </>
  );
}
