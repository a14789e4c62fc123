/** What another operator switched meanwhile, in words; empty when nothing differs. */
export function changesText(before: readonly string[], after: readonly string[]): string {
  const on = after.filter((name) => !before.includes(name));
  const off = before.filter((name) => !after.includes(name));
  return [on.length > 0 && `on now: ${on.join(", ")}`, off.length > 0 && `off now: ${off.join(", ")}`]
    .filter(Boolean)
    .join("; ");
}
