import { parsePrincipal, type PrincipalRef } from "../../contracts/index.ts";
import type { BoxGroup } from "./box.ts";
import type { Names } from "./dimension.ts";
import type { Piece } from "./divide.ts";
import type { InstantTexts } from "./instant-texts.ts";
import type { Among, Region } from "./region.ts";

/** A piece of a group as answers say it. */
export function regionOf({ holder, namespace }: BoxGroup, { extent, verdict, by }: Piece, texts: InstantTexts): Region {
  const { path, scope, except } = extent.place ?? { path: [], scope: "descendants", except: [] };
  const { from = -Infinity, until = Infinity } = extent.span ?? {};
  const [first, last] = [texts.of(from), texts.of(until)];
  return {
    subject: holder.subject,
    authority: holder.authority,
    owner: among(extent.owner, (key) => parsePrincipal(key) as PrincipalRef),
    namespace,
    path: [...path],
    scope,
    ...(except.length > 0 && { except: [...except] }),
    actions: among(extent.actions, (name) => name),
    purposes: among(extent.purposes, (name) => name),
    ...(first !== undefined && { from: first }),
    ...(last !== undefined && { until: last }),
    terms: verdict.terms.map((terms) => ({ ...terms })),
    by: [...by.keys()].toSorted(),
  };
}

function among<Value>(names: Names | undefined, read: (name: string) => Value): Among<Value> {
  const values = (names?.names ?? []).map(read);
  return names === undefined || names.isExcluding ? { not: values } : values;
}
