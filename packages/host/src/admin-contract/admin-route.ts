import type { ErrorCode } from "turnpike/contracts";
import type { CodeAtStatus } from "turnpike/http";
import type { z } from "zod";
import type { OperatorRole } from "./records.ts";

/**
 * Which tenants a route is about: the one that `namespaceId` of its input names; that one, or all when none is named; the one
 * of the credential that `id` names; all of them at once; or none.
 */
type RouteSubject = "tenant" | "tenants" | "credential" | "host" | "nothing";

/** Who may use a route. */
export interface RouteAccess {
  roles: readonly OperatorRole[];
  about: RouteSubject;
}

/** One row of the operators' route table. */
export interface AdminRoute extends RouteAccess {
  method: "GET" | "POST";
  /** A segment in braces, such as `{executionId}`, is the value of that name in `query`. */
  path: `/admin/v1/${string}`;
  summary: string;
  /** Answered without a credential: the body holds what admits its sender. */
  isOpen?: true;
  /** 201 when something is made; 200 otherwise. */
  status?: 201;
  /** What path and query string may hold; beside a body, what the path may hold. */
  query?: z.ZodObject;
  /** The body of a POST. */
  request?: z.ZodType;
  response: z.ZodType;
  /** The codes it is refused with, besides those of every route: an unknown sender, a role, an input that does not fit. */
  errors?: readonly (ErrorCode | CodeAtStatus)[];
  /** The answer is a stream of server-sent events; `response` is the data of one of them. */
  isStream?: true;
  /** The answer is a file; `response` is what it holds. */
  isFile?: true;
  /**
   * It may take long, so it waits for a place among the reports; or so it is with any of these members of its input, or with all of
   * several that are listed together.
   */
  isReport?: true | readonly (string | readonly string[])[];
}

export const admins = ["admin"] as const;
/** Those who read what admins read. */
export const readers = ["admin", "auditor"] as const;
export const reviewers = ["admin", "reviewer"] as const;
export const allRoles = ["admin", "reviewer", "auditor"] as const;

/** What every change may be refused with: it is not made when it cannot be recorded. */
export const changeErrors = ["audit_unavailable"] as const;
