import { type ComponentChild, h, render } from "preact";
import { adminRoutes } from "turnpike-host/admin-contract";
import { onTestFinished, vi } from "vitest";

/** A request that the page sent, and has no answer to yet. */
export interface Sent {
  path: string;
  search: string;
  headers: Headers;
  body: unknown;
  /** Aborts when the page no longer waits for the answer. */
  signal: AbortSignal | undefined;
  answer(value: unknown, status?: number): Promise<void>;
  /** No host answers. */
  fail(): Promise<void>;
}

/** How the page calls each route: see vite.config.ts. */
const calls = Object.fromEntries(
  Object.entries(adminRoutes).map(([name, route]) => [
    name,
    {
      method: route.method,
      path: route.path,
      roles: route.roles,
      ...(route.about === "host" && { isOfHost: true }),
      ...("request" in route && { hasBody: true }),
    },
  ]),
);

/**
 * What a browser gives to the modules of a page that is at an address. They are to be imported after this, because some read
 * the address when they are loaded. What the page sends is answered by the test, and time passes only while it settles.
 */
export function openPage(address = "/console/acme/now") {
  const { pathname, search, hash } = new URL(address, "http://host.test");
  const location = { origin: "http://host.test", pathname, search, hash };
  const show = (_state: unknown, _title: string, to: string): void => {
    const { pathname: path, search: query } = new URL(to, location.origin);
    Object.assign(location, { pathname: path, search: query, hash: "" });
  };
  const stored = new Map<string, string>();
  const events = new EventTarget();
  const sent: Sent[] = [];
  vi.useFakeTimers();
  vi.resetModules();
  vi.stubGlobal("document", Object.assign(new EventTarget(), { visibilityState: "visible" }));
  vi.stubGlobal("location", location);
  vi.stubGlobal("history", { state: null, pushState: show, replaceState: show });
  vi.stubGlobal("scrollTo", () => {});
  vi.stubGlobal("addEventListener", events.addEventListener.bind(events));
  vi.stubGlobal("removeEventListener", events.removeEventListener.bind(events));
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  });
  vi.stubGlobal("ADMIN_CALLS", calls);
  vi.stubGlobal(
    "fetch",
    (url: URL, { headers, body, signal }: { headers: HeadersInit; body?: string; signal?: AbortSignal }) => {
      return new Promise<Response>((resolve, reject) => {
        sent.push({
          path: url.pathname,
          search: url.search,
          headers: new Headers(headers),
          body: body === undefined ? undefined : (JSON.parse(body) as unknown),
          signal,
          async answer(value, status = 200) {
            resolve(Response.json(value, { status }));
            await settle();
          },
          async fail() {
            reject(new TypeError("fetch failed"));
            await settle();
          },
        });
      });
    },
  );
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.resetModules();
  });
  return { sent, stored, events, location };
}

/** The answer of a host that refuses. */
export function refusal(code: string, message = "No."): object {
  return { error: { code, message } };
}

/** Resolves when everything that follows from what happened has happened: promises, renders and effects. */
export async function settle(ms = 200): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Uses a hook as a component of the page does, with arguments that change. */
export async function renderHook<Input, Output>(use: (input: Input) => Output, first: Input) {
  // Preact asks its root for no more, as long as nothing is drawn.
  const root = { childNodes: [], firstChild: null } as unknown as Element;
  const outputs: Output[] = [];
  const draw = (child: ComponentChild): void => render(child, root);
  const Used = ({ input }: { input: Input }): null => {
    outputs.push(use(input));
    return null;
  };
  const show = async (input: Input): Promise<void> => {
    draw(h(Used, { input }));
    await settle();
  };
  const leave = async (): Promise<void> => {
    draw(null);
    await settle();
  };
  await show(first);
  onTestFinished(leave);
  return {
    outputs,
    /** What it returned the last time. */
    now: () => outputs.at(-1) as Output,
    show,
    leave,
  };
}
