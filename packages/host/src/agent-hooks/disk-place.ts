import { isPath, undecided, type Undecided } from "./need.ts";

/** A file on the disk of the machine that the agent works on. */
export interface DiskPlace {
  kind: "place";
  path: string[];
}

/**
 * Where a file is, as the steps of `disk/<absolute path>`. The path is made plain by its text alone, `..` included: whether a
 * step of it is a symbolic link cannot be known here.
 */
export function diskPlace(file: unknown, cwd: unknown): DiskPlace | Undecided {
  if (typeof file !== "string" || file === "") return undecided("it names no file");
  if (file.startsWith("~")) return undecided("whose home folder ~ is cannot be known");
  const isAbsolute = /^(?:\/|[A-Za-z]:[\\/])/.test(file);
  if (!isAbsolute && (typeof cwd !== "string" || !/^(?:\/|[A-Za-z]:[\\/])/.test(cwd)))
    return undecided("it names a file from a folder that is not known");
  const text = isAbsolute ? file : `${String(cwd)}/${file}`;
  const [drive] = /^[A-Za-z]:(?=[\\/])/.exec(text) ?? [];
  if (drive === undefined && text.includes("\\")) return undecided("its path has a backslash");
  // Two slashes at the start are a share of another machine.
  if (/^[\\/]{2}/.test(text)) return undecided("its path begins with two slashes");
  const steps: string[] = [];
  for (const step of drive === undefined ? text.split("/") : text.slice(drive.length).split(/[\\/]/)) {
    // Windows drops them at the end of a name, and reads behind a colon which part of a file is meant.
    if (drive !== undefined && /[. ]$|[:<>"|?*]/.test(step) && !/^\.\.?$/.test(step))
      return undecided("its path has a name that Windows reads as another one");
    if (step === "..") steps.pop();
    else if (step !== "" && step !== ".") steps.push(step);
  }
  const path = drive === undefined ? steps : [drive.toUpperCase(), ...steps];
  return isPath(path)
    ? { kind: "place", path }
    : undecided("its path is too long or has a character that is not shown");
}
