import { may } from "../shared/api.ts";
import { addressOf } from "../shared/place.ts";
import { ForeignText } from "./foreign-text.tsx";
import { Link } from "./link.tsx";

/** A grant by its id, with the way to it for those who may read grants. */
export function GrantLink({ id, query }: { id: string; query?: Readonly<Record<string, string>> }) {
  const name = <ForeignText text={id} />;
  return may("listGrants") ? <Link to={addressOf(["grants", id], query)}>{name}</Link> : name;
}
