import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readAllSources, type Source } from "../support/code-literals.ts";
import { repository } from "../support/repository.ts";

/** Words that the sources no longer use, each with what they say instead. */
const replaced: readonly { old: RegExp; instead: string }[] = [
  { old: /\b(?:pens?|turnPen)\b/i, instead: "RunWriter" },
  { old: /\bcompanions?\b/i, instead: "WriteScope" },
  { old: /\bpreludes?\b/i, instead: "pendingEvents" },
  { old: /\b(?:letIn|letGoOn|goOn)\b/, instead: "admit or resume" },
  { old: /\bunkept\b/i, instead: "retryQueue" },
  { old: /\bkept\b/i, instead: "stored, cached, recorded or retained" },
  { old: /\b(?:stands|standing|stood)\b/i, instead: "is valid, is active or GrantStatus" },
  { old: /\bnudged?\b/i, instead: "wake" },
  { old: /\bmoments?\b/i, instead: "instant" },
  { old: /\bfewRows\b/, instead: "limitRows" },
  { old: /\bonlyThinks\b/, instead: "isPure" },
  { old: /\bisAhead\b/, instead: "allowWriteBehind" },
  { old: /\btrails?\b/i, instead: "audit log" },
  {
    old: /\b(?:nobody|somebody|whoever|anybody|everybody)\b/i,
    instead: "who it is: the caller, the operator, the host",
  },
  { old: /\b(?:a|an|the|another|own|person's) yes\b/i, instead: "approval or approve" },
  { old: /\bturn-way\b/, instead: "turn-admission" },
  { old: /\bquestionMs\b/, instead: "escalationMs" },
];

/** What has such a word and cannot change: published names, values on the wire or in a database, SQL, texts for people. */
const published = [
  '"trail"',
  '"kind":"trail"',
  "`trail` when the host",
  "/me/v1/trail",
  "--accept-broken-trail",
  "trail: outcome",
  'trail: "M6',
  '"kept"',
  "kept, because it is broken",
  "kept as (",
  "kept?: FileVerdict",
  "kept: ownCopy",
  '"stands"',
  "{ isActive, stands, enabledToolNamespaces: on }",
  "stands === false",
  "stands === true",
  "`stands` is the deprecated name",
  "stands?: ",
  "stands: true;",
  "stands: false;",
  'serviceId: "nobody"',
  "Nobody but Alice reads this.",
  "Pays somebody from the owner's account.",
  "Ask whoever gave you access",
];

/** What tests have besides: addresses of the console, and objects of hosts that use the deprecated name. */
const publishedInTests = [
  ...published,
  "/trail",
  "trail/trace",
  "trail/foo",
  "trail?",
  "trail: ",
  "stands: ",
  '\\"nobody\\"',
];

/** What pages have besides: the picture and the events of the audit log, and what the demo and the kernel say. */
const publishedInPages = [
  ...published,
  "/trail.png",
  "- `trail` is a new row",
  "Nobody but Alice",
  "`stands`, the deprecated name",
];

const isText = /\.(?:tsx?|js|json|md)$/;
const isPicture = /\.(?:png|ico|svg)$/;

/** Folders of tests and of what they share. Migrations and snapshots have the text that they had; the browser tests are not held to it yet. */
const testFolders = /^(?:packages\/[^/]+\/(?:src\/.*\.test\.tsx?$|test\/)|tests\/|checks\/)/;
const unchanged =
  /node_modules|__snapshots__|-lock\.json$|\/fixtures\/|\/migrations\/|^checks\/(?:\.|browser\/)|^tests\/architecture\/words\.test\.ts$/;

function readFiles(folders: readonly string[], isRead: (file: string) => boolean): Source[] {
  return folders
    .flatMap((folder) => filesBelow(folder))
    .filter((file) => isRead(file) && !unchanged.test(file))
    .map((file) => readSource(file));
}

function readSource(file: string): Source {
  return { file, text: readFileSync(join(repository, file), "utf8") };
}

const installedOrBuilt = new Set(["node_modules", "dist", ".build", ".next", "cache", "__pycache__"]);

/** The files below a folder, without those that are installed or built. */
function filesBelow(folder: string): string[] {
  return readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return installedOrBuilt.has(entry.name) ? [] : filesBelow(path);
  });
}

function oldWords(files: readonly Source[], allowed: readonly string[]): string[] {
  return files.flatMap(({ file, text }) => {
    const checked = allowed.reduce((rest, one) => rest.replaceAll(one, ""), text);
    return replaced.flatMap(({ old, instead }) => {
      const [word] = old.exec(checked) ?? [];
      return word === undefined ? [] : [`${file} says "${word}", which is ${instead}`];
    });
  });
}

test("the sources use one word for one thing, and not the one that it had before", () => {
  const sources = readAllSources(repository);
  expect(
    oldWords(
      sources.filter(({ file }) => !file.startsWith("packages/host/src/storage/migrations/")),
      published,
    ),
  ).toEqual([]);
});

test("the tests use the words of the sources", () => {
  const tests = readFiles(["packages", "tests", "checks"], (file) => testFolders.test(file) && isText.test(file));
  expect(tests.length).toBeGreaterThan(600);
  expect(oldWords(tests, publishedInTests)).toEqual([]);
});

test("the documents, the examples and the deployment files use the words of the sources", () => {
  const pages = readFiles(["docs", "examples", "deploy", "conformance"], (file) => !isPicture.test(file));
  pages.push(...["README.md", "CONTRIBUTING.md", "SECURITY.md"].map((file) => readSource(file)));
  expect(pages.length).toBeGreaterThan(100);
  expect(oldWords(pages, publishedInPages)).toEqual([]);
});
