// Builds each page by itself: what two pages have in common is in both, because an operator who opens one seldom opens the other, and
// one script is smaller than several with the same content.
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));

// The console comes last: it contains the packages of all pages, so their licenses are those that stay.
for (const [place, page] of ["docs.html", "me.html", "index.html"].entries())
  await build({
    root,
    logLevel: "warn",
    build: { emptyOutDir: place === 0, rolldownOptions: { input: `${root}${page}` } },
  });
