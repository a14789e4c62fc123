import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { repository } from "./repository.ts";

/** One instruction of a Containerfile, with its continued lines joined. */
export interface Instruction {
  word: string;
  text: string;
}

/** The stages of a Containerfile, each beginning with its FROM. */
export function readStages(file: string): Instruction[][] {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => !line.startsWith("#"));
  const stages: Instruction[][] = [];
  for (const line of lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")) {
    const [, word = "", text = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (word === "FROM") stages.push([]);
    if (word !== "") stages.at(-1)?.push({ word, text });
  }
  return stages;
}

/** What an image is started with. */
export interface Image {
  /** The files that its last stage copies, below the paths that they have in it. */
  folder: string;
  /** The commands that its last stage runs in itself. */
  setUp: string;
  env: Record<string, string>;
  workingFolder: string;
  user: string;
  command: string[];
  healthcheck: string[];
}

/** The same packages, from the cache of this machine. */
const env = { ...process.env, npm_config_prefer_offline: "true" };

/** What the tests have done already when they begin. */
const alreadyDone = new Set(["npm ci --ignore-scripts", "node scripts/build-host.js"]);

/** Does what a Containerfile says, in a folder instead of an image; what is built is taken from this repository. */
export function makeImage(file: string, folder: string): Image {
  const [build = [], last = []] = readStages(file);
  const source = join(folder, "build");
  const image = join(folder, "image");
  const home = textOf(build, "WORKDIR");
  for (const { word, text } of build) {
    if (word === "COPY")
      copy(text === ". ." ? builtSources : sourcesOf(text), repository, join(source, lastWord(text)));
    if (word === "RUN" && !alreadyDone.has(text)) execFileSync("sh", ["-c", text], { cwd: source, env, stdio: "pipe" });
  }
  for (const { word, text } of last) {
    if (word !== "COPY") continue;
    const [from, ...sources] = sourcesOf(text);
    if (from !== "--from=build") throw new Error(`COPY ${text}: expected --from=build.`);
    const inside = sources.map((path) => path.replace(`${home}/`, ""));
    const to = join(image, lastWord(text));
    // A folder is copied as what is in it, under the name of the target.
    if (lastWord(text).endsWith("/")) copy(inside, source, to);
    else cpSync(join(source, inside[0] ?? ""), to, { recursive: true, verbatimSymlinks: true });
  }
  const [, healthcheck = "[]"] = textOf(last, "HEALTHCHECK").split(" CMD ");
  return {
    folder: image,
    setUp: textOf(last, "RUN"),
    env: Object.fromEntries([...textOf(last, "ENV").matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value])),
    workingFolder: textOf(last, "WORKDIR"),
    user: textOf(last, "USER"),
    command: [...words(textOf(last, "ENTRYPOINT")), ...words(textOf(last, "CMD"))],
    healthcheck: words(healthcheck),
  };
}

/** The sources as the build leaves them, without the installed packages. */
const builtSources = ["deploy", "scripts", "packages"];

function copy(names: readonly string[], from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of names) {
    cpSync(join(from, name), join(to, basename(name)), {
      recursive: true,
      filter: (path) => !isPassing(basename(path)),
    });
  }
}

/** Installed packages, and what other steps of a test run make and remove while this copies. */
function isPassing(name: string): boolean {
  return name === "node_modules" || name === "coverage" || name.endsWith(".tgz");
}

export function textOf(stage: readonly Instruction[], wanted: string): string {
  return stage.find(({ word }) => word === wanted)?.text ?? "";
}

function sourcesOf(text: string): string[] {
  return text.split(" ").slice(0, -1);
}

function lastWord(text: string): string {
  return text.split(" ").at(-1) ?? "";
}

function words(text: string): string[] {
  return JSON.parse(text) as string[];
}
