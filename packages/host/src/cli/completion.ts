import { Argument, type Command, type Option } from "commander";
import { ChoiceError } from "./flags.ts";

/** The shells that a script can be made for. */
const shells = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `completion`: a script that completes commands, flags and their choices, made from the commands themselves. */
export function addCompletionCommand(program: Command, print: (text: string) => void): void {
  program
    .command("completion")
    .description("Print a script that completes this command in a shell.")
    .addHelpText(
      "after",
      "\nExample:\n  turnpike completion bash > ~/.local/share/bash-completion/completions/turnpike",
    )
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(shells)))
    .exitOverride()
    .action((shell: keyof typeof shells) => print(shells[shell](placesOf(program))));
}

/** What can be typed behind some words. */
interface Place {
  /** The commands so far, such as `/grant/list`; empty behind `turnpike` itself. */
  path: string;
  commands: readonly Word[];
  flags: readonly Flag[];
  /** The values of the first argument, when there are only some. */
  choices: readonly string[];
}

interface Word {
  word: string;
  says: string;
}

interface Flag extends Word {
  value: "none" | "any" | "file" | readonly string[];
}

function placesOf(command: Command, path = ""): Place[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const own: Place = {
    path,
    commands: commands.map((one) => ({ word: one.name(), says: help.subcommandDescription(one) })),
    flags: help.visibleOptions(command).flatMap((option) => flagOf(option, help.optionDescription(option))),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
  const below = command.commands.flatMap((one) => placesOf(one, `${path}/${one.name()}`));
  return [own, ...below];
}

function flagOf(option: Option, says: string): Flag[] {
  const { long } = option;
  return long ? [{ word: long, says, value: valueOf(option) }] : [];
}

function valueOf(option: Option): Flag["value"] {
  if (!option.required && !option.optional) return "none";
  return option.argChoices ?? choicesTaken(option) ?? (option.flags.includes("<file>") ? "file" : "any");
}

/** A flag that takes only some words names them when it refuses one. */
function choicesTaken({ parseArg }: Option): readonly string[] | undefined {
  try {
    // No argument can hold this.
    parseArg?.("\0", undefined);
  } catch (error) {
    if (error instanceof ChoiceError) return error.choices;
  }
  return undefined;
}

/** The flags that take a value, whatever the command. */
function flagsWithValue(places: readonly Place[], isFile?: boolean): string[] {
  const flags = places.flatMap((place) => place.flags);
  const fitting = flags.filter(
    ({ value }) => value !== "none" && (isFile === undefined || (value === "file") === isFile),
  );
  return [...new Set(fitting.map(({ word }) => word))];
}

/** The flags of a place that take one of some values. */
function choicesOf({ path, flags }: Place): { at: string; values: readonly string[] }[] {
  return flags.flatMap(({ word, value }) => (Array.isArray(value) ? [{ at: `${path}:${word}`, values: value }] : []));
}

/** In bash and zsh alike: the commands among the words before the cursor, without the values of flags. */
function walk(places: readonly Place[], before: string): string {
  const paths = places.flatMap(({ path }) => (path === "" ? [] : `"${path}"`));
  return `  local place="" previous="" word
  for word in ${before}; do
    case "$previous" in
      ${flagsWithValue(places).join("|")}) previous="" ; continue ;;
    esac
    case "$place/$word" in
      ${paths.join("|")}) place="$place/$word" ;;
    esac
    previous="$word"
  done`;
}

function bashScript(places: readonly Place[]): string {
  const words = ({ commands, flags, choices }: Place): string =>
    [...commands.map(({ word }) => word), ...choices, ...flags.map(({ word }) => word)].join(" ");
  const choices = places.flatMap(choicesOf).map(({ at, values }) => `    "${at}") words="${values.join(" ")}" ;;`);
  return `# Completes turnpike in bash. Made by: turnpike completion bash
_turnpike() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
${walk(places, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')}
  COMPREPLY=()
  case "$place:$previous" in
${choices.join("\n")}
    *:${flagsWithValue(places, true).join("|*:")}) COMPREPLY=($(compgen -f -- "$current")) ; return ;;
    *:${flagsWithValue(places, false).join("|*:")}) return ;;
    *) case "$place" in
${places.map((place) => `      "${place.path}") words="${words(place)}" ;;`).join("\n")}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _turnpike turnpike`;
}

function zshScript(places: readonly Place[]): string {
  const entry = ({ word, says }: Word): string => quoted(`${word.replaceAll(":", "\\:")}:${says}`);
  const entries = ({ commands, flags, choices }: Place): string =>
    [...commands.map(entry), ...choices.map((word) => quoted(word)), ...flags.map(entry)].join(" ");
  const choices = places
    .flatMap(choicesOf)
    .map(({ at, values }) => `    "${at}") compadd -- ${values.map(quoted).join(" ")} ; return ;;`);
  return `#compdef turnpike
# Completes turnpike in zsh. Made by: turnpike completion zsh
_turnpike() {
  local -a entries
${walk(places, '"${(@)words[2,CURRENT-1]}"')}
  case "$place:$previous" in
${choices.join("\n")}
    *:${flagsWithValue(places, true).join("|*:")}) _files ; return ;;
    *:${flagsWithValue(places, false).join("|*:")}) return ;;
  esac
  case "$place" in
${places.map((place) => `    "${place.path}") entries=(${entries(place)}) ;;`).join("\n")}
  esac
  _describe turnpike entries
}
if [ "\${funcstack[1]}" = "_turnpike" ]; then _turnpike "$@"; else compdef _turnpike turnpike; fi`;
}

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, flags, choices }) => {
    const at = `complete -c turnpike -n '__turnpike_at "${path}"'`;
    return [
      ...commands.map(({ word, says }) => `${at} -f -a ${word} -d ${fishQuoted(says)}`),
      ...choices.map((word) => `${at} -f -a ${word}`),
      ...flags.map(({ word, says, value }) => `${at} -l ${word.slice(2)} ${fishValue(value)}-d ${fishQuoted(says)}`),
    ];
  });
  return `# Completes turnpike in fish. Made by: turnpike completion fish
function __turnpike_at
  set -l place ""
  set -l previous ""
  for word in (commandline -opc)[2..-1]
    if contains -- "$previous" ${flagsWithValue(places).join(" ")}
      set previous ""
      continue
    end
    if contains -- "$place/$word" ${places.flatMap(({ path }) => path || []).join(" ")}
      set place "$place/$word"
    end
    set previous "$word"
  end
  test "$place" = "$argv[1]"
end
complete -c turnpike -f
${lines.join("\n")}`;
}

function fishValue(value: Flag["value"]): string {
  if (value === "none") return "";
  if (value === "file") return "-r -F ";
  return value === "any" ? "-x " : `-x -a ${fishQuoted(value.join(" "))} `;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
