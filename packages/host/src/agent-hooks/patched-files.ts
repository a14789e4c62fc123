const begin = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/;
const moved = /^\*\*\* Move to: (.+)$/;
const other = /^\*\*\* (?:Begin Patch|End Patch|End of File|Environment ID: \S+)$/;

/**
 * The files that a patch in Codex' words adds, changes, deletes or moves; undefined when a line cannot be told. INVARIANT: a line
 * that begins like a heading is a heading that is known here.
 */
export function patchedFiles(patch: unknown): string[] | undefined {
  if (typeof patch !== "string") return undefined;
  const files: string[] = [];
  for (const line of patch.trim().split(/\r?\n/)) {
    const [, file] = begin.exec(line.trim()) ?? moved.exec(line.trim()) ?? [];
    if (file !== undefined) files.push(file.trim());
    else if (line.trim().startsWith("***") && !other.test(line.trim())) return undefined;
  }
  return files.length === 0 ? undefined : files;
}
