import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type AdminRoute, adminRoutes } from "turnpike-host/admin-contract";
import { defineConfig } from "vite";

const folder = fileURLToPath(new URL("src/", import.meta.url));
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => readFileSync(join(folder, file), "utf8"))
  .join("\n");

/** What the pages know of the routes that they name: how to send a call, and who may. The schemas would be most of their size. */
const calls = Object.fromEntries(
  Object.entries<AdminRoute>(adminRoutes)
    .filter(([name]) => sources.includes(`"${name}"`))
    .map(([name, { method, path, roles, about, request }]) => [
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
    target: "es2022",
    // The first that know `light-dark` and nested rules.
    cssTarget: ["chrome123", "firefox121", "safari17.5"],
    // Inline scripts and data: URLs are not allowed by the page's policy.
    modulePreload: false,
    assetsInlineLimit: 0,
  },
});
