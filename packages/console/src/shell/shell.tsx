import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { may, signOut } from "../shared/api.ts";
import { live } from "../shared/events/live.ts";
import { addressOf, go, place } from "../shared/place.ts";
import { session } from "../shared/session.ts";
import { isolatedText, principalText } from "../shared/words.ts";
import { ForeignText } from "../parts/foreign-text.tsx";
import { Link } from "../parts/link.tsx";
import { Time } from "../parts/time.tsx";
import { screens } from "../screens/screens.ts";
import { Icon, Mark } from "./icons.tsx";
import { useLate } from "./late.ts";
import { Shortcuts } from "./shortcuts.tsx";
import { TenantSwitch } from "./tenant-switch.tsx";

/** The frame of every screen: where one is, what waits, whether the page is live, and who is signed in. */
export function Shell({ children }: { children: ComponentChildren }) {
  const { tenant = "", screen } = place.value;
  const [isOpen, setOpen] = useState(false);
  const waiting = live.waiting.value ?? 0;
  const withdrawn = live.withdrawn.value.length;
  const title = screens.find(({ name }) => name === screen)?.title ?? "Not found";
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · ${isolatedText(tenant)} · Turnpike`;
  }, [waiting, title, tenant]);
  return (
    <div
      class="shell"
      onKeyDown={(event) => {
        if (event.key === "Escape" && isOpen) setOpen(false);
      }}
    >
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="side">
        <div class="side-head">
          <Link to={addressOf(["now"])} class="brand">
            <Mark />
            <span class="brand-name">Turnpike</span>
          </Link>
          <TenantSwitch />
          <Shortcuts />
          <button
            type="button"
            class="button menu-button"
            aria-expanded={isOpen}
            aria-controls="menu"
            onClick={() => setOpen(!isOpen)}
          >
            {title}
            {waiting > 0 && <Badge count={waiting} what="waiting" />}
            <svg class="chevron" viewBox="0 0 10 10" aria-hidden="true">
              <path d="M2 3.5 5 6.5 8 3.5" />
            </svg>
          </button>
        </div>
        <div class={isOpen ? "side-menu open" : "side-menu"} id="menu">
          <nav aria-label="Screens">
            {screens
              .filter(({ needs }) => may(needs))
              .map(({ name, title: text }) => (
                <Link key={name} to={addressOf([name])} isCurrent={name === screen} onFollow={() => setOpen(false)}>
                  <Icon name={name} />
                  {text}
                  {name === "questions" && waiting > 0 && <Badge count={waiting} what="waiting" />}
                  {name === "tools" && withdrawn > 0 && <Badge count={withdrawn} what="changed" />}
                </Link>
              ))}
          </nav>
          <Visitor />
        </div>
      </header>
      <main id="content" tabIndex={-1} data-screen={screen}>
        {children}
      </main>
      <NotLive />
    </div>
  );
}

function Badge({ count, what }: { count: number; what: string }) {
  return (
    <span class="badge">
      {count}
      <span class="hidden"> {what}</span>
    </span>
  );
}

/** Says that the page is not live. It lies over the page, so that nothing moves when it comes and goes. */
function NotLive() {
  const isLate = useLate(live.isOpen.value);
  return (
    <div role="status">
      {isLate && (
        <p class="not-live">Not live: the event stream is not open. What you see may be old; the page tries again.</p>
      )}
    </div>
  );
}

function Visitor() {
  const current = session.current.value;
  if (current === undefined) return null;
  const { operator, host, expiresAt } = current;
  const leave = async (): Promise<void> => {
    await signOut();
    go("/console/", "replace");
  };
  return (
    <div class="visitor">
      <p class="live-state">
        <span class={live.isOpen.value ? "dot good" : "dot wait"} />
        {live.isOpen.value ? "Live" : "Not live"}
        {host.isDemo && <span class="hint">demo host</span>}
      </p>
      <p>
        <span class="clip">
          <ForeignText text={principalText(operator.actor)} />
        </span>
        <span class="hint">
          {operator.role}
          {expiresAt !== undefined && (
            <>
              {" "}
              until <Time at={expiresAt} />
            </>
          )}
        </span>
      </p>
      <button type="button" class="button" onClick={() => void leave()}>
        Sign out
      </button>
    </div>
  );
}
