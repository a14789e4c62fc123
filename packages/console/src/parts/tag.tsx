import { ForeignText } from "./foreign-text.tsx";

/** The state of something, in one word and one colour; never in colour alone. */
export function Tag({ text, tone = "quiet" }: { text: string; tone?: Tone }) {
  return (
    <span class={`tag ${tone}`}>
      <ForeignText text={text} />
    </span>
  );
}

export type Tone = "good" | "bad" | "wait" | "accent" | "quiet";

const tones: Readonly<Record<string, Tone>> = {
  allowed: "good",
  succeeded: "good",
  live: "good",
  approved: "good",
  denied: "bad",
  failed: "bad",
  revoked: "bad",
  invalid: "bad",
  expired: "quiet",
  cancelled: "quiet",
  waiting: "wait",
  pending: "wait",
  escalated: "wait",
  exhausted: "wait",
  unknown: "wait",
  running: "accent",
  future: "accent",
};

/** The tag of a state that the API names. */
export function StateTag({ state }: { state: string }) {
  return <Tag text={state} tone={tones[state] ?? "quiet"} />;
}
