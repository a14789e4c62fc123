import { expect, test } from "vitest";
import { openApiDocument } from "turnpike/http";
import { renderDocs } from "./docs-page.ts";

const evil = `"><script>alert('&')</script>`;
const escaped = "&quot;&gt;&lt;script&gt;alert('&amp;')&lt;/script&gt;";

const operation = {
  summary: evil,
  description: evil,
  requestBody: { content: { "application/json": { example: evil, examples: { one: { value: { [evil]: evil } } } } } },
  responses: { [evil]: { description: evil, content: { [evil]: { example: [evil] } } } },
};

test("nothing in the document becomes markup", () => {
  const page = renderDocs({
    info: { title: evil, version: evil, description: evil },
    paths: { [`/${evil}`]: { post: operation } },
  });
  expect(page).not.toContain("<script");
  expect(page).not.toContain("alert('&')");
  expect(page.split(escaped).length - 1).toBeGreaterThanOrEqual(10);
});

test("the page loads nothing and runs nothing", () => {
  const page = renderDocs(openApiDocument({ title: "Turnpike", version: "1.0.0" }));
  expect(page).not.toMatch(/<script|<link|<img|<iframe|\bsrc=|@import|url\(|\bon\w+=|javascript:/i);
  expect([...page.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)).toEqual(["/openapi.json"]);
});

test("every operation of the service is on the page, with its verb", () => {
  const document = openApiDocument({ title: "Turnpike", version: "1.0.0" }) as { paths: Record<string, object> };
  const page = renderDocs(document);
  const shown = [...page.matchAll(/<span class="verb">([A-Z]+)<\/span> ([^<]+)<\/code>/g)].map(
    ([, verb, path]) => `${verb} ${path}`,
  );
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((verb) => `${verb.toUpperCase()} ${path}`),
  );
  expect(shown.toSorted()).toEqual(described.toSorted());
  expect(shown).toContain("POST /v1/authorize");
});

test("a document that says little makes a page as well", () => {
  const page = renderDocs({ info: { title: "T", version: "1" }, paths: { "/a": { get: {} } } });
  expect(page).toContain('<span class="verb">GET</span> /a');
  expect(page).not.toContain("undefined");
});
