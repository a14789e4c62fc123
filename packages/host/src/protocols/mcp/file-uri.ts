const prefix = "turnpike://files/";

/** The template of every file's URI. */
export const fileUriTemplate = `${prefix}{+path}`;

/** Whether a URI, or a template, is one of the host's own files. The scheme of a URI has no case. */
export function isFileUri(uri: string): boolean {
  return uri.slice(0, prefix.length).toLowerCase() === prefix;
}

/** The URI of a file; undefined for a name that no URI can hold. */
export function toFileUri(path: readonly string[]): string | undefined {
  try {
    return prefix + path.map(encodeURIComponent).join("/");
  } catch {
    return undefined;
  }
}

/** The path in a file's URI, which the kernel then decides about; undefined for another URI. */
export function fromFileUri(uri: string): string[] | undefined {
  if (!uri.startsWith(prefix)) return undefined;
  try {
    return uri.slice(prefix.length).split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}
