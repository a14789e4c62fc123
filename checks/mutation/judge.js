// What a report of Stryker comes to: each change that no test noticed needs a reason in survivors.json.

const unnoticed = new Set(["Survived", "NoCoverage"]);
const noticed = new Set(["Killed", "Timeout"]);

/** What is wrong: files without a change, survivors without a reason, and reasons for what does not survive any more. */
export function judge(report, files, reasons) {
  const survivors = files.flatMap((file) => changesOf(report, file, (status) => unnoticed.has(status)));
  const alive = files.flatMap((file) => changesOf(report, file, (status) => !noticed.has(status)));
  return [
    ...files.filter((file) => mutantsOf(report, file).length === 0).map((file) => `Nothing was changed in ${file}.`),
    ...survivors
      .filter((survivor) => !reasons.some((reason) => isAbout(reason, survivor)))
      .map(
        ({ line, ...survivor }) =>
          `No test noticed, and no reason is given (line ${line}): ${JSON.stringify(survivor)}`,
      ),
    ...reasons
      .filter((reason) => files.includes(reason.file) && !alive.some((change) => isAbout(reason, change)))
      .map(({ reason: _why, ...what }) => `A reason is given for what does not survive: ${JSON.stringify(what)}`),
  ];
}

/** A row for each file and one for all: how many changes were tried, and how many of them a test noticed. */
export function summaryOf(report, files) {
  const mutants = files.map((file) => mutantsOf(report, file));
  const rows = [
    ...files.map((file, index) => rowOf(file.split("/").slice(-2).join("/"), mutants[index])),
    rowOf("together", mutants.flat()),
  ];
  return ["| File | Noticed | Share |", "| ---- | ------- | ----- |", ...rows.filter(Boolean)].join("\n");
}

function rowOf(name, mutants) {
  const killed = mutants.filter(({ status }) => noticed.has(status)).length;
  const tried = killed + mutants.filter(({ status }) => unnoticed.has(status)).length;
  return tried > 0 && `| ${name} | ${killed} of ${tried} | ${((100 * killed) / tried).toFixed(1)}% |`;
}

function changesOf(report, file, isMeant) {
  const lines = (report.files[file]?.source ?? "").split("\n");
  return mutantsOf(report, file)
    .filter(({ status }) => isMeant(status))
    .map(({ location: { start, end }, replacement }) => ({
      file,
      line: start.line,
      code: textBetween(lines, start, end),
      change: replacement,
      onLine: lines[start.line - 1].trim(),
    }));
}

function mutantsOf(report, file) {
  return report.files[file]?.mutants ?? [];
}

/** By what is written there and what it was changed to, because lines move; by the text of the line, too, if the reason has it. */
function isAbout(reason, { file, code, change, onLine }) {
  const isSame = reason.file === file && reason.code === code && reason.change === change;
  return isSame && (reason.onLine === undefined || reason.onLine === onLine);
}

function textBetween(lines, start, end) {
  const picked = lines.slice(start.line - 1, end.line);
  picked[picked.length - 1] = picked.at(-1).slice(0, end.column - 1);
  picked[0] = picked[0].slice(start.column - 1);
  return picked.join(" ").replaceAll(/\s+/g, " ");
}
