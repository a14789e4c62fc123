import { ToolError } from "turnpike/kernel";

/** There is no file at the path, or it was deleted. */
export function noFile(): ToolError {
  return new ToolError("not_found", "There is no file at this path.");
}

export function noSnapshot(): ToolError {
  return new ToolError("not_found", "There is no snapshot of this id at this path.");
}

export function nothingToSnapshot(): ToolError {
  return new ToolError("not_found", "There is no file here to take a snapshot of.");
}

export function fileExists(): ToolError {
  return new ToolError("already_exists", "There is a file at this path already.");
}

export function otherVersion(version: number, expected: number): ToolError {
  return new ToolError("version_conflict", `The file has version ${version}, and not ${expected}.`);
}

export function contentTooLarge(bytes: number, limit: number): ToolError {
  return new ToolError("content_too_large", `The file would have ${bytes} bytes; at most ${limit} are stored.`);
}

/** A snapshot or a restore is limited in size, because other changes of the owner wait until it ends. */
export function tooMuchAtOnce(what: "store" | "restore", bytes: number, limit: number): ToolError {
  const problem = `There are ${bytes} bytes to ${what} here, and at most ${limit} at once`;
  return new ToolError("content_too_large", `${problem}; ${what} a smaller folder.`);
}

export function tooMany(what: "files" | "snapshots" | "snapshots of a path", limit: number): ToolError {
  return new ToolError("quota_exceeded", `There are ${limit} ${what} at most.`);
}

export function badPattern(problem: string): ToolError {
  return new ToolError("invalid_pattern", problem);
}

export function badCursor(): ToolError {
  return new ToolError("invalid_cursor", "The cursor does not come from this request.");
}
