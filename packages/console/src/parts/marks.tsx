import type { GrantEntry } from "turnpike-host/admin-contract";

/** A state of a grant by its shape: none is told by colour alone. Drawn around 0 0, 12 wide. */
const stateShapes: Readonly<Record<GrantEntry["state"], { path: string; isFilled?: boolean; tone: string }>> = {
  live: { path: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0", isFilled: true, tone: "good" },
  future: { path: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0M0 -3V0H2.5", tone: "accent" },
  expired: { path: "M-4 -5H4L-4 5H4Z", isFilled: true, tone: "quiet" },
  revoked: { path: "M-4.5 -4.5L4.5 4.5M4.5 -4.5L-4.5 4.5", tone: "bad" },
  exhausted: { path: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0M-2.5 0H2.5", tone: "wait" },
  invalid: { path: "M0 -5.5L6 5H-6ZM0 -1.5V1.5", tone: "bad" },
  unknown: { path: "M0 -6L6 0L0 6L-6 0Z", tone: "wait" },
};

/** The mark of a state inside of a picture. */
export function StateShape({ state, x, y }: { state: GrantEntry["state"]; x: number; y: number }) {
  const { path, isFilled = false, tone } = stateShapes[state];
  return <path class={`mark ${tone}${isFilled ? " filled" : ""}`} d={path} transform={`translate(${x} ${y})`} />;
}

/** The mark of a state in a text, which says the state too. */
export function StateMark({ state }: { state: GrantEntry["state"] }) {
  return (
    <svg class="state-mark" viewBox="-8 -8 16 16" aria-hidden="true">
      <StateShape state={state} x={0} y={0} />
    </svg>
  );
}
