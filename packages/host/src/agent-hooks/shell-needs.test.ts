import { describe, expect, test } from "vitest";
import { shellNeeds } from "./shell-needs.ts";

/** The places that a command needs, or the reason why it is denied. */
function placesOf(line: string): string[] | string {
  const needs = shellNeeds(line);
  if (needs.kind === "undecided") return needs.why;
  expect(needs.needs.every(({ action, resource }) => action === "run" && resource.namespace === "shell")).toBe(true);
  return needs.needs.map(({ resource }) => resource.path.join("/"));
}

describe("a command that is decided needs the first word of each program", () => {
  for (const [line, places] of [
    ["git status", ["git/status"]],
    ["  git\tstatus  ", ["git/status"]],
    ["ls", ["ls"]],
    ["ls -la", ["ls"]],
    ["ls -la src", ["ls/src"]],
    ["cat src/main.ts", ["cat/src%2Fmain.ts"]],
    ["cat /etc/hosts", ["cat/%2Fetc%2Fhosts"]],
    ["cat %2Fetc%2Fhosts", ["cat/%252Fetc%252Fhosts"]],
    ["ls .", ["ls/%2E"]],
    ["ls ..", ["ls/%2E%2E"]],
    ["cat -", ["cat/-"]],
    ["grep -n 'a\\b' file.txt", ["grep/a%5Cb", "grep/file.txt"]],
    ["git commit -m 'Fix the sum; drop $x, `y` and (z) > 1 & more'", ["git/commit"]],
    ['git commit -m "Fix it: a < b && c | d; (really)!"', ["git/commit"]],
    ["git commit -m Fix#12", ["git/commit"]],
    ["git log HEAD~1 HEAD^ -- *.ts", ["git/log"]],
    ["git status && git push || git log; wc -l | sort", ["git/status", "git/push", "git/log", "wc", "sort"]],
    ["git status&&git push", ["git/status", "git/push"]],
    ["git status && git status", ["git/status"]],
    ["npm run build --if-present", ["npm/run"]],
    ["npm --silent test", ["npm/test"]],
    ["git --git-dir=x status", ["git/status"]],
    ["find . -name x", ["find/%2E"]],
    ["python3 -m venv dir", ["python3/venv", "python3/dir"]],
    ["printf '%s' x", ["printf/%25s"]],
    ["x86_64-linux-gnu-gcc main.c", ["x86_64-linux-gnu-gcc/main.c"]],
    ["g++ main.cc", ["g++/main.cc"]],
    ["true || exit 1", ["true", "exit/1"]],
  ] as const)
    test(line, () => {
      expect(placesOf(line)).toEqual(places);
    });
});

describe("where an option may take the word behind it, every word is needed that may be the first", () => {
  for (const [line, places] of [
    ["git -C status push", ["git/status", "git/push"]],
    ["git -C status -c x push", ["git/status", "git/x", "git/push"]],
    ["git -c alias.status=!sh status", "a shell may replace the first word of git with something else"],
    ["git -c core.pager=evil log", ["git/core.pager=evil", "git/log"]],
    ["git '-C' status push", ["git/status", "git/push"]],
    ["rm -rf build dist", ["rm/build", "rm/dist"]],
    ["rm -- -rf build", ["rm/-rf", "rm/build"]],
    ["git -C -- push", ["git/push"]],
    ["git -- -x -y push", ["git/-x", "git/-y", "git/push"]],
    ["kubectl --namespace get delete pod", ["kubectl/get", "kubectl/delete"]],
    ["kubectl --namespace=get delete pod", ["kubectl/delete"]],
  ] as const)
    test(line, () => {
      expect(placesOf(line)).toEqual(places);
    });
});

const substitution = "it has a substitution";
const variable = "it has a substitution or a variable";
const inQuotes = "it has a substitution, a variable or a backslash in double quotes";
const subshell = "it has a subshell or a function";
const braces = "it has braces outside of quotes";
const redirection = "it has a redirection";
const backslash = "it has a backslash outside of single quotes";
const background = "it has a command that goes on in the background";
const lines = "it has more than one line";
const hidden = "it has a character that is not shown";
const empty = "it has an empty command";
const joint = "it has a joint of commands that is not &&, ||, ; or |";
const quoted = "the name of a program is in quotes";
const path = "a program is given by its path";
const assignment = "it has an assignment";
const notPlain = "the name of a program is not plain";
const replaced = (program: string): string => `a shell may replace the first word of ${program} with something else`;
const shell = (program: string): string => `${program} is a shell, which runs any command`;
const launcher = (program: string): string => `${program} runs another command`;
const changes = (program: string): string => `${program} changes what the words behind it mean`;
const more = (option: string): string => `${option} does more than its name says`;

const hostile: readonly (readonly [line: string, why: string])[] = [
  ["", empty],
  ["   ", empty],
  ["git status;", empty],
  ["; git status", empty],
  ["git status && && git push", empty],
  ["git status | | sort", empty],
  ["case x in x) ;; esac", subshell],
  ["git status $(git push)", variable],
  ['git status "$(git push)"', inQuotes],
  ["git status `git push`", substitution],
  ['git status "`git push`"', inQuotes],
  ["git $SUBCOMMAND", variable],
  ["$PROGRAM status", variable],
  ["git ${SUBCOMMAND}", variable],
  ["git status $((1+1))", variable],
  ["git $'\\x70ush'", variable],
  ['git $"push"', variable],
  ['git "st\\atus"', inQuotes],
  ["git status > ~/.bashrc", redirection],
  ["git status >> log", redirection],
  ["git apply < patch", redirection],
  ["cat <<EOF", redirection],
  ["cat <<<text", redirection],
  ["diff <(git status) x", redirection],
  ["tee >(sh)", redirection],
  ["git status 2>&1", redirection],
  ["git status &> log", background],
  ["git status & git push", background],
  ["git status &", background],
  ["git status |& sh", joint],
  ["git status ||& sh", joint],
  ["git status &&& git push", background],
  ["(git status)", subshell],
  ["git status; (git push)", subshell],
  ["f() { git push; }", subshell],
  ["{ git push; }", braces],
  ["git {status,push}", braces],
  ["git stash@{0}", braces],
  ["git status\ngit push", lines],
  ["git status\r\ngit push", lines],
  ["git status\rgit push", lines],
  ["git commit -m 'one\ntwo'", lines],
  ["git status \\\ngit push", lines],
  ["git status # and more", "it has a comment"],
  ["# git status", "it has a comment"],
  ["git\u00A0status", hidden],
  ["git status\u0000", hidden],
  ["git status \u001B[2K", hidden],
  ["git status \u202Etxt", hidden],
  ["git st\u200Batus", hidden],
  ["git status\u2028git push", hidden],
  ["git\u3000status", hidden],
  ["git status \uD800", hidden],
  ["git pu\\sh", backslash],
  ["g\\it push", backslash],
  ["\\git push", backslash],
  ["'git' push", quoted],
  ['g"i"t push', quoted],
  ["''git push", quoted],
  ["git 'status", "it has a quote that does not end"],
  ['git "status', "it has a quote that does not end"],
  ["git ''", "the first word of a command is empty or too long"],
  [`git ${"x".repeat(257)}`, "the first word of a command is empty or too long"],
  ["/bin/ls", path],
  ["./run.sh", path],
  ["../run.sh", path],
  ["scripts/run", path],
  ["~/bin/run", path],
  ["PATH=/tmp git status", assignment],
  ["GIT_PAGER=evil git log", assignment],
  ["PATH+=:x git status", assignment],
  ["A=b", assignment],
  ["a[0]=b", notPlain],
  [". script", notPlain],
  [": x", notPlain],
  ["! git push", notPlain],
  ["!! ", notPlain],
  ["- git push", notPlain],
  ["=git push", notPlain],
  ["[[ -n x ]]", notPlain],
  ["%1", notPlain],
  ["gi? push", notPlain],
  ["g*t push", notPlain],
  ["gi[t] push", notPlain],
  ["ɡit push", notPlain],
  ["git push*", replaced("git")],
  ["git pus?", replaced("git")],
  ["git [p]ush", replaced("git")],
  ["git -* status", replaced("git")],
  ["git -C * push", replaced("git")],
  ["cat ~/secrets", replaced("cat")],
  ["cat =ls", replaced("cat")],
  ["echo !!", replaced("echo")],
  ["eval git push", launcher("eval")],
  ["env git push", launcher("env")],
  ["genv git push", launcher("genv")],
  ["sudo git push", launcher("sudo")],
  ["SUDO git push", launcher("SUDO")],
  ["doas git push", launcher("doas")],
  ["git status | xargs git push", launcher("xargs")],
  ["git status && exec git push", launcher("exec")],
  ["command git push", launcher("command")],
  ["builtin eval x", launcher("builtin")],
  ["nohup git push", launcher("nohup")],
  ["timeout 5 git push", launcher("timeout")],
  ["gtimeout 5 git push", launcher("gtimeout")],
  ["nice -n 5 git push", launcher("nice")],
  ["setsid git push", launcher("setsid")],
  ["stdbuf -o0 git push", launcher("stdbuf")],
  ["time git push", launcher("time")],
  ["watch git push", launcher("watch")],
  ["parallel git ::: push", launcher("parallel")],
  ["script -c 'git push'", launcher("script")],
  ["strace git push", launcher("strace")],
  ["chroot x git push", launcher("chroot")],
  ["then git push", launcher("then")],
  ["sh -c 'git push'", shell("sh")],
  ["bash script", shell("bash")],
  ["BASH script", shell("BASH")],
  ["bash.exe script", shell("bash.exe")],
  ["bash-5.2 script", shell("bash-5.2")],
  ["ksh93 script", shell("ksh93")],
  ["zsh script", shell("zsh")],
  ["fish script", shell("fish")],
  ["pwsh script", shell("pwsh")],
  ["cmd.exe script", shell("cmd.exe")],
  ["busybox sh", shell("busybox")],
  ["git status | sh", shell("sh")],
  ["source script", changes("source")],
  ["alias ls=evil; ls", changes("alias")],
  ["export PATH", changes("export")],
  ["hash -p evil git && git status", changes("hash")],
  ["echo x | read PATH", changes("read")],
  ["trap x EXIT", changes("trap")],
  ["if true; git push; fi", "if is no command but a word of the shell"],
  ["while true; git push; done", "while is no command but a word of the shell"],
  ["function f", "function is no command but a word of the shell"],
  ["find . -exec git push", more("find -exec")],
  ["find . -execdir git push", more("find -execdir")],
  ["find . -ok git push", more("find -ok")],
  ["gfind . -exec git push", more("gfind -exec")],
  ["find . '-exec' git push", more("find -exec")],
  ["fd . -Hx git", more("fd -Hx")],
  ["rg x --pre evil", more("rg --pre")],
  ["printf -v PATH x", more("printf -v")],
];

describe("what cannot be decided is denied", () => {
  for (const [line, why] of hostile)
    test(JSON.stringify(line), () => {
      expect(placesOf(line)).toBe(why);
    });

  test("a command line with more needs than an act may have", () => {
    const programs = (count: number): string => Array.from({ length: count }, (_, index) => `p${index}`).join(";");
    expect(placesOf(programs(64))).toHaveLength(64);
    expect(placesOf(programs(65))).toBe("it has too many commands");
  });

  test("the table is one", () => {
    expect(hostile.length).toBeGreaterThan(120);
    expect(new Set(hostile.map(([line]) => line)).size).toBe(hostile.length);
  });
});
