let name = "turnpike";

/** How this program is called in its hints: as it was started, so that they can be pasted. */
export function programName(): string {
  return name;
}

/** Sets how this program was started. Without it, hints call the program `turnpike`. */
export function setProgramName(startedAs: string): void {
  name = startedAs;
}
