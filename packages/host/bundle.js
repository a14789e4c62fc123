// Makes `dist/command`, the few files that the command starts from, of the many that were compiled; leaves it alone while it is
// current, because commands may be running from it. Why and what is in it: docs/adr/0015-the-command-is-a-bundle.md.
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { ingredientTimes, isBundleCurrent, packageUrl } from "./dist/cli/command-file.js";

if (!isBundleCurrent(packageUrl)) {
  // Before anything is read, so that what is compiled meanwhile makes the bundle an old one.
  const bundledFrom = JSON.stringify(ingredientTimes(packageUrl));
  await build({
    configFile: false,
    logLevel: "warn",
    root: fileURLToPath(packageUrl),
    ssr: { noExternal: ["kysely", "zod"] },
    build: {
      ssr: true,
      target: "node20",
      // Whoever reads a stack trace reads the code that it names.
      minify: false,
      outDir: "dist/command",
      emptyOutDir: true,
      license: { fileName: "THIRD-PARTY-LICENSES.md" },
      rolldownOptions: {
        input: ["dist/cli/cli.js", "dist/cli/hook.js"],
        output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
      },
    },
    plugins: [
      {
        name: "bundled-from",
        generateBundle() {
          this.emitFile({ type: "asset", fileName: "bundled-from.json", source: bundledFrom });
        },
      },
    ],
  });
}
