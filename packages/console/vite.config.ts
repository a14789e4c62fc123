import { fileURLToPath } from "node:url";
import { type AdminRoute, adminRoutes } from "turnpike-host/admin-contract";
import { defineConfig } from "vite";

/** What the page knows of the routes: how to send a call, and who may. The schemas would be most of its size. */
const calls = Object.fromEntries(
  Object.entries<AdminRoute>(adminRoutes).map(([name, { method, path, roles, about, request }]) => [
    name,
    { method, path, roles, ...(about === "host" && { isOfHost: true }), ...(request && { hasBody: true }) },
  ]),
);

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "/console/",
  define: { ADMIN_CALLS: JSON.stringify(calls) },
  // `h` takes children as arguments, which makes the page smaller than a property of each element.
  oxc: {
    jsx: { runtime: "classic", pragma: "h", pragmaFrag: "Fragment" },
    jsxInject: `import { h, Fragment } from "preact"`,
  },
  build: {
    // Inside the host's package, because the bundle contains code of others.
    license: { fileName: "THIRD-PARTY-LICENSES.md" },
    // Into the package of the host, which serves it.
    outDir: fileURLToPath(new URL("../host/dist/console", import.meta.url)),
    emptyOutDir: true,
    rolldownOptions: {
      input: ["index.html", "docs.html", "me.html"].map((page) => fileURLToPath(new URL(page, import.meta.url))),
    },
    target: "es2022",
    // The first that know `light-dark` and nested rules.
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    // Inline scripts and data: URLs are not allowed by the page's policy.
    modulePreload: false,
    assetsInlineLimit: 0,
  },
});
