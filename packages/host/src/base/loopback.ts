/** Whether a host name means this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|\[?::1\]?|localhost)$/.test(host);
}
