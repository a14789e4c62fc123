/** The one-time code behind the `#` of the address, where no server and no log sees it. It is removed from the address at once. */
export function codeInAddress(): string | undefined {
  const code = new URLSearchParams(globalThis.location.hash.slice(1)).get("code");
  if (code === null) return undefined;
  const { pathname, search } = globalThis.location;
  globalThis.history.replaceState(undefined, "", pathname + search);
  return code;
}
