// A host script of this folder with a clock that can be set: `clock=<file>` and `script=<name>` among the arguments say which.
// Date is ahead by as many milliseconds as the file says, and the file `<file>.set` says when it is. Timers and
// `performance.now()` run as ever, as they do when an administrator sets the clock of a machine.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

function take(name) {
  const place = process.argv.findIndex((argument) => argument.startsWith(`${name}=`));
  return process.argv.splice(place, 1)[0].slice(name.length + 1);
}

const [file, script] = [take("clock"), take("script")];
const RealDate = Date;
let offset = 0;

function follow() {
  const wanted = readFileSync(file, "utf8");
  if (wanted === "" || Number(wanted) === offset) return;
  offset = Number(wanted);
  writeFileSync(`${file}.new`, wanted);
  renameSync(`${file}.new`, `${file}.set`);
}

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + offset);
    else super(...given);
  }

  static now() {
    return RealDate.now() + offset;
  }
};
follow();
setInterval(follow, 5).unref();
await import(`./${script}`);
