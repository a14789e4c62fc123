import { instantText } from "../shared/instants.ts";

/** An instant by the operator's clock, with the exact one as its title, for people and machines. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {instantText(at)}
    </time>
  );
}
