import type { AuthorizationRequest, PrincipalRef } from "../../contracts/index.ts";

/** Acts that a rule is about: at a place and everywhere below it, of any owner. */
export interface RuledActs {
  /** Any action without it. */
  action?: string | undefined;
  /** A namespace and a path in it, such as `files/notes`. */
  resource: string;
}

/** No principal may do these acts, or only on some conditions. Principals are written `kind:id`, or `kind:*` for all of a kind. */
export interface NeverRule extends RuledActs {
  /** Who may not; every principal without it. */
  subject?: string | undefined;
  /** Acts for which all of this holds do not count. */
  unless?:
    | {
        /** Each of them needs a person's approval. */
        approval?: "each" | undefined;
        purpose?: string | undefined;
        /** They are done on grants of this principal. */
        authority?: string | undefined;
      }
    | undefined;
}

/** These principals alone may do these acts. */
export interface OnlyRule extends RuledActs {
  subjects: readonly string[];
}

/** No principal may do both at one instant, for whatever purposes and on whosever grants. */
export interface SeparateRule {
  /** Two. */
  acts: readonly RuledActs[];
}

/** A rule about what grants allow from now on. It has one of the three forms. */
export interface Invariant {
  id: string;
  never?: NeverRule | undefined;
  only?: OnlyRule | undefined;
  separate?: SeparateRule | undefined;
}

/** A request that breaks a rule, at an instant at which grants carry it, with or without a person's approval. */
export interface Counterexample extends AuthorizationRequest {
  namespaceId: string;
  actor: PrincipalRef;
  authority: PrincipalRef;
  owner: PrincipalRef;
  purpose: string;
  at: string;
}

/** A rule that grants break. */
export interface Violation {
  /** The id of the rule. */
  invariant: string;
  /** The grants that carry the requests. */
  grantIds: string[];
  /** One request; or two, of which no principal may do both. */
  counterexample: Counterexample[];
}

/** What grants break. */
export interface Violations {
  violations: Violation[];
  /** There are more than these. */
  more?: true | undefined;
}
