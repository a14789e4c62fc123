import type { Reply } from "turnpike/http";
import { createHash } from "node:crypto";

const style = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(22rem, calc(100vw - 2rem)); padding: 2rem 0; }
h1 { font-size: 1.25rem; }
a.button { display: block; margin: 0.75rem 0; padding: 0.75rem 1rem; border: 1px solid; border-radius: 0.5rem;
  color: inherit; text-decoration: none; overflow-wrap: anywhere; }
a.button:hover, a.button:focus-visible { background: color-mix(in srgb, currentcolor 10%, transparent); }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

/** These pages load nothing, run nothing and send no form. */
const safety = {
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
  "content-type": "text/html; charset=utf-8",
};

/** A page of signing in: what happened, in a sentence or two, and where the person can continue. */
export interface SignInPage {
  title: string;
  text?: string;
  /** Buttons, each of which leads to an address of this host. */
  links: readonly { to: string; says: string }[];
}

/** A page as it is answered. Whatever it says of others is text and nothing else. */
export function pageReply(status: number, { title, text, links }: SignInPage): Reply {
  const said = text === undefined ? "" : `<p>${escaped(text)}</p>`;
  const buttons = links
    .map(({ to, says }) => `<a class="button" href="${escaped(to)}">${escaped(says)}</a>`)
    .join("\n");
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · Turnpike</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${said}
${buttons}
</main>
</body>
</html>
`;
  return { status, headers: safety, body };
}

/** Sends the browser on to an address that no cache stores and no other site learns. */
export function redirectReply(location: string): Reply {
  return {
    status: 303,
    headers: { location, "cache-control": "no-store", "referrer-policy": "no-referrer" },
    body: null,
  };
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}
