import { Dialog } from "../parts/dialog.tsx";

const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["/", "Ctrl K"], "find anything by its name"],
  [["j", "k"], "the next row of a list, the one before"],
  [["Enter"], "open the row, or send the form"],
  [["Ctrl Enter"], "send a form from a field of several lines"],
  [["Escape"], "close a dialog"],
  [["↑", "↓", "←", "→"], "walk the picture of grants, close and open it"],
  [["?"], "these keys"],
];

/** The keys that mean something on every screen, except while the operator types. */
export function KeyHelp({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {keys.map(([names, what]) => (
          <div key={what}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">While you type in a field, they are letters.</p>
    </Dialog>
  );
}
