import type { AccessContext } from "../contracts/index.ts";
import type { AccessGuard } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

/** A guard, two active accesses with the tool namespaces `files` and `mail` on, and what can happen to the first. */
export interface AccessGuardUnderTest {
  guard: AccessGuard;
  context: AccessContext;
  /** The access of another actor in the same tenant. */
  other: AccessContext;
  revoke(): Promise<void> | void;
  switchTo(namespaces: readonly string[]): Promise<void> | void;
}

/**
 * Whether a guard tells at once what was taken away, from whom it was taken, and nothing else.
 *
 * @example
 * import { accessGuardSuite, memoryAccess } from "turnpike/testing";
 *
 * const guard = memoryAccess();
 * const other = { ...context, actor: { kind: "agent", agentId: "other" } } as const;
 * const revoke = () => guard.revoke(context);
 * const switchTo = (names: readonly string[]) => guard.switchTo(context, names);
 * const cases = accessGuardSuite(async () => ({ guard, context, other, revoke, switchTo }));
 * console.log(cases[0]?.name); // an access that nothing happened to is active, with the namespaces that are on
 */
export function accessGuardSuite(open: () => Promise<AccessGuardUnderTest>): PortCase[] {
  const { signal } = new AbortController();
  const left = async (guard: AccessGuard, context: AccessContext): Promise<unknown> => {
    const access = await guard.check(context, signal);
    if (access.isActive === false || access.stands === false) return "revoked";
    return [...access.enabledToolNamespaces].toSorted();
  };
  return [
    {
      name: "an access that nothing happened to is active, with the namespaces that are on",
      async run() {
        const { guard, context, other } = await open();
        expectSame(await left(guard, context), ["files", "mail"], "an active access");
        expectSame(await left(guard, other), ["files", "mail"], "another one");
      },
    },
    {
      name: "a revoked access is no longer active, and every other access is",
      async run() {
        const { guard, context, other, revoke } = await open();
        await revoke();
        expectSame(await left(guard, context), "revoked", "the revoked access");
        expectSame(await left(guard, context), "revoked", "the revoked access, asked again");
        expectSame(await left(guard, other), ["files", "mail"], "another one");
      },
    },
    {
      name: "a namespace that was switched off is still on for every other access",
      async run() {
        const { guard, context, other, switchTo } = await open();
        await switchTo(["files"]);
        expectSame(await left(guard, context), ["files"], "what is left");
        expectSame(await left(guard, other), ["files", "mail"], "another one");
      },
    },
    {
      name: "what is on is what the host has stored, not what the context says",
      async run() {
        const { guard, context, switchTo } = await open();
        await switchTo(["mail"]);
        const stale = { ...context, enabledToolNamespaces: ["files"] };
        expectSame(await left(guard, stale), ["mail"], "an access with a stale context");
      },
    },
  ];
}
