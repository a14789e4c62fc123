/** One thing that is done with files. */
export type FileStep =
  | { kind: "create"; path: string; content: string }
  | { kind: "replace" | "append"; path: string; content: string; expected: string }
  | { kind: "delete"; path: string; expected: string }
  | { kind: "read" | "stat"; path: string }
  | { kind: "list"; path: string; isShallow: boolean; limit: number }
  | { kind: "search" | "grep"; path: string; text: string }
  | { kind: "snapshot:create"; path: string }
  | { kind: "snapshot:restore"; path: string; snapshot: number }
  | { kind: "snapshot:list"; path: string; limit: number };

/** Files as a person would think of them: nothing but names and contents. */
export interface FileModel {
  /** The version of what is at a path, or was. */
  versionOf(path: string): number | undefined;
  answer(step: FileStep): unknown;
}

interface ModelFile {
  content: string | undefined;
  version: number;
}

export function fileModel(limits: {
  fileBytes: number;
  files: number;
  snapshots: number;
  ownerSnapshots: number;
}): FileModel {
  const files = new Map<string, ModelFile>();
  const snapshots: { path: string; contents: Map<string, string> }[] = [];

  const there = (): [string, string, number][] =>
    [...files]
      .flatMap(([path, { content, version }]): [string, string, number][] =>
        content === undefined ? [] : [[path, content, version]],
      )
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const inside = (folder: string) => there().filter(([path]) => isWithin(path, folder));
  const contentAt = (path: string): string | undefined => files.get(path)?.content;
  const set = (path: string, content: string | undefined): number => {
    const version = (files.get(path)?.version ?? 0) + 1;
    files.set(path, { content, version });
    return version;
  };

  const put = (path: string, content: string): unknown => {
    const size = sizeOf(content);
    if (size > limits.fileBytes) return { code: "content_too_large" };
    if (contentAt(path) === undefined && there().length >= limits.files) return { code: "quota_exceeded" };
    return { path, version: set(path, content), size };
  };
  const refusal = (step: { path: string; expected: string }): unknown => {
    if (contentAt(step.path) === undefined) return { code: "not_found" };
    return step.expected === "wrong" ? { code: "version_conflict" } : undefined;
  };

  const list = (folder: string, isShallow: boolean): unknown[] => {
    const seen = new Set<string>();
    return inside(folder).flatMap(([path, content, version]) => {
      const below = folder === "" ? path : path.slice(folder.length + 1);
      const [first = "", ...deeper] = below.split("/");
      if (!isShallow || deeper.length === 0) return [{ kind: "file", path, version, size: sizeOf(content) }];
      const child = folder === "" ? first : `${folder}/${first}`;
      if (seen.has(child)) return [];
      seen.add(child);
      return [{ kind: "folder", path: child }];
    });
  };

  const restore = (folder: string, place: number): unknown => {
    const snapshot = snapshots[place];
    if (snapshot === undefined || snapshot.path !== folder) return { code: "not_found" };
    const toWrite = [...snapshot.contents].filter(([path, content]) => contentAt(path) !== content);
    const toDelete = inside(folder).filter(([path]) => !snapshot.contents.has(path));
    const created = toWrite.filter(([path]) => contentAt(path) === undefined).length;
    if (created > 0 && there().length + created - toDelete.length > limits.files) return { code: "quota_exceeded" };
    for (const [path] of toDelete) set(path, undefined);
    for (const [path, content] of toWrite) set(path, content);
    return { written: toWrite.length, deleted: toDelete.length };
  };

  return {
    versionOf: (path) => files.get(path)?.version,
    answer(step) {
      const { path } = step;
      const content = contentAt(path);
      switch (step.kind) {
        case "create":
          return content === undefined ? put(path, step.content) : { code: "already_exists" };
        case "replace":
          return refusal(step) ?? put(path, step.content);
        case "append":
          return refusal(step) ?? put(path, (content ?? "") + step.content);
        case "delete":
          return refusal(step) ?? { version: set(path, undefined) };
        case "read":
          return content === undefined ? { code: "not_found" } : { content, version: files.get(path)?.version };
        case "stat":
          if (content === undefined) return { code: "not_found" };
          return { path, version: files.get(path)?.version, size: sizeOf(content) };
        case "list":
          return list(path, step.isShallow);
        case "search":
          return inside(path).flatMap(([found, text]) =>
            wordsIn(`${found} ${text}`).some((word) => word.startsWith(step.text)) ? [found] : [],
          );
        case "grep":
          return inside(path).flatMap(([found, text]) => (text.includes(step.text) ? [found] : []));
        case "snapshot:create": {
          const known = snapshots.filter((snapshot) => snapshot.path === path);
          if (known.length >= limits.snapshots || snapshots.length >= limits.ownerSnapshots)
            return { code: "quota_exceeded" };
          const contents = new Map(inside(path).map(([name, text]) => [name, text]));
          if (contents.size === 0) return { code: "not_found" };
          snapshots.push({ path, contents });
          return { path, files: contents.size };
        }
        case "snapshot:restore":
          return restore(path, step.snapshot);
        case "snapshot:list":
          return snapshots.flatMap((snapshot, place) => (isWithin(snapshot.path, path) ? [place] : [])).toReversed();
      }
    },
  };
}

function isWithin(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

function sizeOf(content: string): number {
  return new TextEncoder().encode(content).length;
}

function wordsIn(text: string): string[] {
  return text.split(/[^a-zä]+/);
}
