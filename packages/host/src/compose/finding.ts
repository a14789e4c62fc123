/** One thing that the doctor checked. */
export interface Finding {
  check: string;
  isOk: boolean;
  /** True when a host can run like this, but the operator should know about it. */
  isWarning?: boolean;
  /** What was found and, if there is a problem, what to do. */
  says: string;
}

/** What is as it should be. */
export function good(check: string, says: string): Finding {
  return { check, isOk: true, says };
}

/** What prevents a host, or a part of it, from running. */
export function bad(check: string, says: string): Finding {
  return { check, isOk: false, says };
}

/** What a host can run with, but the operator should know. */
export function warning(check: string, says: string): Finding {
  return { check, isOk: true, isWarning: true, says };
}
