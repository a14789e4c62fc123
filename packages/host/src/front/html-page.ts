import { createHash } from "node:crypto";
import type { Reply } from "turnpike/http";

const style = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(30rem, calc(100vw - 2rem)); padding: 2rem 0; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; }
p, li, label { overflow-wrap: anywhere; }
a.button, button { display: block; box-sizing: border-box; width: 100%; margin: 0.75rem 0; padding: 0.75rem 1rem; border: 1px solid;
  border-radius: 0.5rem; background: none; color: inherit; font: inherit; text-align: start; text-decoration: none; cursor: pointer;
  overflow-wrap: anywhere; }
a.button:hover, a.button:focus-visible, button:hover, button:focus-visible {
  background: color-mix(in srgb, currentcolor 10%, transparent); }
fieldset { margin: 1rem 0; padding: 0.5rem 1rem; border: 1px solid; border-radius: 0.5rem; }
label { display: block; padding: 0.25rem 0; }
label.of { padding-inline-start: 1.75rem; font-size: 0.9rem; }
select { font: inherit; max-width: 100%; }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

/** These pages load nothing, run nothing, and send forms nowhere but where they say. */
const safety = {
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "content-type": "text/html; charset=utf-8",
};

/** A page that is whole without scripts. */
export interface HtmlPage {
  title: string;
  /** Markup. INVARIANT: every text of others in it went through `escapeHtml`. */
  main: string;
  /** Where its forms may lead, redirects of the answer included; nowhere unless given. */
  formTargets?: readonly string[];
}

/** A page as it is answered. */
export function htmlReply(status: number, { title, main, formTargets = ["'none'"] }: HtmlPage): Reply {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    "base-uri 'none'",
    `form-action ${formTargets.join(" ")}`,
    "frame-ancestors 'none'",
  ].join("; ");
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Turnpike</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${main}
</main>
</body>
</html>
`;
  return { status, headers: { ...safety, "content-security-policy": policy }, body };
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text that a page shows as it is, also within an attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** What happened, in a sentence or two, and where the person can continue. */
export interface LinkPage {
  title: string;
  text?: string;
  /** Buttons, each of which leads to an address of this host. */
  links: readonly { to: string; says: string }[];
}

/** A page of links as it is answered. Whatever it says of others is text and nothing else. */
export function pageReply(status: number, { title, text, links }: LinkPage): Reply {
  const said = text === undefined ? "" : `<p>${escapeHtml(text)}</p>`;
  const buttons = links
    .map(({ to, says }) => `<a class="button" href="${escapeHtml(to)}">${escapeHtml(says)}</a>`)
    .join("\n");
  return htmlReply(status, { title, main: `${said}\n${buttons}` });
}

/** Sends the browser on to an address that no other site learns. As with every answer of the host, no cache stores it. */
export function redirectReply(location: string): Reply {
  return { status: 303, headers: { location, "referrer-policy": "no-referrer" }, body: null };
}
