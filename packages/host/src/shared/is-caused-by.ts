/** Whether something that was thrown is an error of a class, or was caused by one. */
export function isCausedBy(thrown: unknown, kind: new () => Error): boolean {
  const isOfKind = (at: unknown): boolean => at instanceof kind;
  for (let at = thrown; at instanceof Error; at = at.cause) if (isOfKind(at)) return true;
  return false;
}
