import { DiscoveryContextSchema, type AccessContext, type DiscoveryContext } from "../contracts/index.ts";
import { accept, markAccepted, parseInstant } from "../internal/index.ts";

/** The context as the kernel uses it, or undefined when it does not fit the contract. */
export function acceptDiscovery(context: DiscoveryContext): DiscoveryContext | undefined {
  const accepted = accept(DiscoveryContextSchema, context);
  return accepted.ok ? accepted.value : undefined;
}

/** Like `acceptDiscovery`, for operations that act and so need an authority. */
export function acceptContext(context: AccessContext): AccessContext | undefined {
  const accepted = acceptDiscovery(context);
  return accepted?.authority === undefined ? undefined : (accepted as AccessContext);
}

/** An accepted context at another instant. Throws when the clock gave none. */
export function contextAt(context: AccessContext, now: string): AccessContext {
  if (now === context.now) return context;
  if (typeof now !== "string" || parseInstant(now) === undefined)
    throw new TypeError("The clock of the turn gave no RFC 3339 time.");
  return changed(context, { now });
}

/** An accepted context with other tool namespaces, which were accepted too. */
export function contextWith(context: AccessContext, enabledToolNamespaces: string[]): AccessContext {
  return changed(context, { enabledToolNamespaces });
}

function changed(context: AccessContext, changes: Partial<AccessContext>): AccessContext {
  return markAccepted(DiscoveryContextSchema, { ...context, ...changes }) as AccessContext;
}
