import { momentText } from "../base/moments.ts";

/** A moment by the operator's clock, with the exact one for who looks closer and for machines. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at}>
      {momentText(at)}
    </time>
  );
}
