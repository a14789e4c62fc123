import { ConfigError } from "../shared/index.ts";

/** What reading a secret needs of standard input. */
export type SecretInput = Pick<
  NodeJS.ReadStream,
  "on" | "off" | "resume" | "pause" | "setEncoding" | "readableEnded"
> & {
  isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

const maxLength = 16_384;

/**
 * Reads a secret from a pipe, up to its end, or from the terminal, where nothing of it is shown. White space around it is
 * dropped.
 */
export function readSecret(input: SecretInput, prompt: string, say: (text: string) => void): Promise<string> {
  // Nothing more comes, and no event says so a second time.
  if (input.readableEnded) return Promise.resolve("");
  const isTyped = input.isTTY === true;
  if (isTyped) say(prompt);
  return new Promise((resolve, reject) => {
    let text = "";
    const settle = (act: () => void): void => {
      input.off("data", take).off("end", end).off("error", fail);
      input.pause();
      if (isTyped) {
        input.setRawMode?.(false);
        say("\n");
      }
      act();
    };
    const end = (): void => settle(() => resolve(text.trim()));
    const fail = (cause: Error): void =>
      settle(() => reject(new ConfigError("Standard input cannot be read.", { cause })));
    const take = (part: string): void => {
      for (const letter of part) {
        if (isTyped && (letter === "\r" || letter === "\n" || letter === "\u0004")) return end();
        if (isTyped && letter === "\u0003") return settle(() => reject(new Error("Interrupted: nothing was changed.")));
        text = isTyped && (letter === "\u007F" || letter === "\b") ? text.slice(0, -1) : text + letter;
      }
      if (text.length > maxLength)
        settle(() => reject(new ConfigError("Standard input: this is too long for a token.")));
    };
    input.setEncoding("utf8");
    if (isTyped) input.setRawMode?.(true);
    input.on("data", take).on("end", end).on("error", fail);
    input.resume();
  });
}
