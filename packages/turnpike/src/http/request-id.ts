/** Echoed when it is 1-128 visible ASCII characters, else made anew. */
export function requestIdOf(sent: string | null): string {
  return sent !== null && /^[\x21-\x7e]{1,128}$/.test(sent) ? sent : crypto.randomUUID();
}
