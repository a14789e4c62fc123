/** Reads `files/notes` as the path `notes` in the namespace `files`; undefined when a step of the path is empty. */
export function parseResourceText(text: string): { namespace: string; path: string[] } | undefined {
  const [namespace = "", ...path] = text.replace(/\/$/, "").split("/");
  return path.includes("") ? undefined : { namespace, path };
}
