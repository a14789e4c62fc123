// npm run docs: renders README, guides and all other documents into .build/site, which opens from the folder itself.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSite } from "./build-site.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const contents = JSON.parse(readFileSync(new URL("contents.json", import.meta.url), "utf8"));
const { problems, pages } = buildSite({ root, contents, out: `${root}.build/site` });
if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n`);
  process.exit(1);
}
process.stdout.write(`${pages.length} pages. Open .build/site/index.html\n`);
