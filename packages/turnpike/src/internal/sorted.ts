/** True when the names are in ascending order of their code units and none stands twice. */
export function isSortedSet(names: readonly string[]): boolean {
  return names.every((name, index) => index === 0 || (names[index - 1] ?? "") < name);
}
