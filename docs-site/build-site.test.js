import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { buildSite } from "./build-site.js";

const folder = mkdtempSync(join(tmpdir(), "turnpike-docs-site-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sound = {
  "README.md":
    "# First\n\n[two](docs/two.md#a-heading-of-two), [folder](docs), [license](LICENSE), [self](#below)\n\n## Below\n",
  "docs/two.md":
    '# Two\n\n## A heading, of `two`!\n\n## Same\n\n## Same\n\n[same](#same-1) <img src="pictures/a.svg">\n',
  "docs/pictures/a.svg": "<svg/>",
  LICENSE: "free",
};
const contents = [{ group: "All", pages: { "README.md": "Start", "docs/": "" } }];

/** Builds the site of these files. */
function build(files, pages = contents) {
  const root = mkdtempSync(join(folder, "root-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const out = join(root, ".build/site");
  const { problems } = buildSite({ root, contents: pages, out });
  const read = (path) => readFileSync(join(out, path), "utf8");
  return { problems, isWritten: existsSync(out), read };
}

test("links between documents become links between pages, and other files are taken along", () => {
  const { problems, read } = build(sound);
  expect(problems).toEqual([]);
  const [, text] = /<article>(.*)<\/article>/s.exec(read("index.html"));
  const hrefs = [...text.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href);
  expect(hrefs).toEqual(["two.html#a-heading-of-two", "two.html", "files/LICENSE", "#below"]);
  expect(read("files/LICENSE")).toBe("free");
  expect(read("two.html")).toContain('<img src="files/docs/pictures/a.svg">');
  expect(read("two.html")).toContain('<h2 id="same-1">');
});

for (const row of [
  {
    name: "a link to no file",
    files: { "docs/two.md": "# Two\n\n[x](three.md)" },
    problem: "docs/two.md: three.md leads to no file.",
  },
  {
    name: "a link to a heading that is not there",
    files: { "docs/two.md": "# Two\n\n[x](../README.md#above)" },
    problem: "docs/two.md: ../README.md#above names a heading that is not there.",
  },
  {
    name: "a link out of the repository",
    files: { "README.md": "# First\n\n[x](../../x.md)" },
    problem: "README.md: ../../x.md leads to no file.",
  },
  {
    name: "a picture of another server",
    files: { "README.md": "# First\n\n![x](https://example.com/x.png)" },
    problem: "README.md: https://example.com/x.png is a picture of another server, and the site asks nobody.",
  },
  {
    name: "a link to a folder without a page",
    files: { "README.md": "# First\n\n[x](docs/pictures)" },
    problem: "README.md: docs/pictures is a folder without a page.",
  },
  {
    name: "a document that the table of contents does not name",
    files: { "CHANGELOG.md": "# Changes" },
    problem: "CHANGELOG.md is not in docs-site/contents.json. Add it to a group.",
  },
]) {
  test(`${row.name} fails the build, and nothing is written`, () => {
    const { problems, isWritten } = build({ ...sound, ...row.files });
    expect(problems).toContain(row.problem);
    expect(isWritten).toBe(false);
  });
}

test("a table of contents that names what does not exist fails the build", () => {
  const pages = [...contents, { group: "More", pages: { "docs/more.md": "More" } }];
  expect(build(sound, pages).problems).toEqual(["docs/more.md is in docs-site/contents.json and does not exist."]);
});

test("the security policy and the page on security are two pages", () => {
  const files = { "README.md": "# First", "SECURITY.md": "# Policy", "docs/security.md": "# Model" };
  const pages = { "README.md": "", "SECURITY.md": "", "docs/security.md": "" };
  const { read } = build(files, [{ group: "All", pages }]);
  expect(read("security.html")).toContain("Model</h1>");
  expect(read("security-policy.html")).toContain("Policy</h1>");
});

test("code is escaped and coloured, and says what the tests do with it", () => {
  const code = '# First\n\n```sh\necho "<b>" --flag # why\n```\n';
  const { read } = build({ "README.md": code }, [{ group: "All", pages: { "README.md": "" } }]);
  expect(read("index.html")).toContain("<b>Shell</b><span>run by the tests</span>");
  expect(read("index.html")).toContain(
    'echo <span class="string">&quot;&lt;b&gt;&quot;</span> <span class="word">--flag</span> <span class="comment"># why</span>',
  );
});
