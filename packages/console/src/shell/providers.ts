import { signal } from "@preact/signals";
import { useState } from "preact/hooks";

/** With which identity providers operators sign in here, and whether with them alone. */
interface SignInChoices {
  providers: readonly string[];
  areTokensOff: boolean;
}

const none: SignInChoices = { providers: [], areTokensOff: false };

/** How operators sign in besides with a token: with no provider until the host has answered, and where it has none. */
export function useProviders(): SignInChoices {
  // Asked once for each form, at once: an effect would come after the first picture.
  const [choices] = useState(() => {
    const found = signal(none);
    void readChoices().then((read) => (found.value = read));
    return found;
  });
  return choices.value;
}

async function readChoices(): Promise<SignInChoices> {
  try {
    const response = await fetch(new URL("/sign-in/providers", globalThis.location.origin), {
      headers: { accept: "application/json" },
    });
    if (!response.ok) return none;
    const said = (await response.json()) as { providers: { name: string; console: boolean }[]; tokens: boolean };
    const providers = said.providers.filter(({ console }) => console).map(({ name }) => name);
    return { providers, areTokensOff: !said.tokens };
  } catch {
    return none;
  }
}

/** Where a sign-in begins that leads back to the page that is open. */
export function signInAddress(provider: string, { pathname, search }: { pathname: string; search: string }): string {
  return `/sign-in?${new URLSearchParams({ to: pathname + search, provider }).toString()}`;
}
