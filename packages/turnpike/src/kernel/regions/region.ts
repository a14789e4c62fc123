import type { Budget, PrincipalRef, Scope } from "../../contracts/index.ts";

/** Some values, or all but some: `{ not: [] }` is every value there is. */
export type Among<Value> = Value[] | { not: Value[] };

/** A place, and with `descendants` everything below it. */
export interface Place {
  path: string[];
  scope: Scope;
}

/** What a grant asks for before it carries an act. Each field narrows; without any of them it asks for nothing. */
export interface Terms {
  approval?: "each" | undefined;
  maxUses?: number | undefined;
  /** The smallest budget of each unit and window that the grant or one above it has. */
  budgets?: Budget[] | undefined;
}

/** Requests that grants decide alike. Every request of a region is decided as it says, and regions of one answer do not overlap. */
export interface Region extends Place {
  /** Who acts. */
  subject: PrincipalRef;
  /** Whose grants are exercised. */
  authority: PrincipalRef;
  /** Whose resources. */
  owner: Among<PrincipalRef>;
  /** The resource namespace. */
  namespace: string;
  /** The places within it that are not part of it. */
  except?: Place[] | undefined;
  actions: Among<string>;
  /** A purpose `*` is a name like any other. */
  purposes: Among<string>;
  /** The first instant; absent when there is none. */
  from?: string | undefined;
  /** The instant at which it ends; absent when it does not. */
  until?: string | undefined;
  /** The distinct terms of the grants in `by`, or `[{}]` alone when one of them asks for nothing. */
  terms: Terms[];
  /** The ids of the grants that carry some request of the region. */
  by: string[];
}

/** Requests that are carried before and after, on other terms. */
export interface ChangedRegion extends Region {
  /** The terms before. */
  was: Terms[];
  /** Each act needed a person's approval, and needs none now. */
  wider?: true | undefined;
}

/** What becomes of all requests when one set of grants takes the place of another. */
export interface GrantComparison {
  /** Requests that no grant carries before, and some grant carries after, with or without a person's approval. */
  opened: Region[];
  /** Requests that some grant carries before, and none after. `by` names grants of before. */
  closed: Region[];
  changed: ChangedRegion[];
  /** There are more regions than these. `opened` is empty only when nothing opens. */
  more?: true | undefined;
}
