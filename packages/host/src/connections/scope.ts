import type { Capability } from "turnpike/contracts";

/** What a client asks for: an action at a place. */
export interface ScopedAct {
  action: string;
  namespace: string;
  path: string[];
}

/** The text of a capability's action in a `scope`: `action:namespace/path`, percent-encoded. */
export function scopeText(action: string, { namespace, path }: Capability["resource"]): string {
  return `${encodeURIComponent(action)}:${[namespace, ...path].map(encodeURIComponent).join("/")}`;
}

/** The acts that a `scope` names. What is written otherwise, such as `offline_access`, names none. */
export function actsIn(scope: string): ScopedAct[] {
  return scope.split(" ").flatMap((text) => {
    const [, action = "", place = ""] = /^([^:/]+):([^:]+)$/.exec(text) ?? [];
    if (action === "") return [];
    try {
      const [namespace = "", ...path] = place.split("/").map(decodeURIComponent);
      return [{ action: decodeURIComponent(action), namespace, path }];
    } catch {
      return [];
    }
  });
}
