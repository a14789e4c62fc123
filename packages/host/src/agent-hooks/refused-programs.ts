/** Programs and words of a shell that run what they are given, or change what the words behind them mean. */
const refused: readonly (readonly [why: string, names: string])[] = [
  [
    "is a shell, which runs any command",
    "sh bash rbash zsh rzsh dash ash ksh rksh pdksh mksh oksh loksh yash posh fish csh tcsh rc es elvish nu xonsh osh ysh " +
      "oil pwsh powershell cmd command.com wsl osascript busybox toybox",
  ],
  [
    "runs another command",
    "eval env exec command builtin sudo sudoedit doas su runuser pkexec gosu su-exec run0 sg newgrp setpriv capsh runcon xargs " +
      "parallel nohup timeout nice ionice renice chrt taskset numactl setsid stdbuf unbuffer time watch entr at batch script " +
      "expect strace ltrace dtruss gdb lldb chroot unshare nsenter bwrap firejail proot fakeroot fakechroot systemd-run flock setarch " +
      "linux32 linux64 i386 x86_64 prlimit softlimit daemonize start-stop-daemon chpst setuidgid envdir envuidgid tini dumb-init " +
      "catchsegv rlwrap dbus-run-session xvfb-run caffeinate arch ld.so start call forfiles noglob nocorrect repeat sched " +
      "coproc then else elif do",
  ],
  [
    "changes what the words behind it mean",
    "source alias unalias export declare typeset local readonly set unset shopt setopt unsetopt emulate enable hash rehash " +
      "trap functions autoload zmodload bind bindkey complete compdef let read readarray mapfile getopts vared integer float fc",
  ],
  [
    "is no command but a word of the shell",
    "if fi for foreach while until case esac select function done in end switch breaksw",
  ],
];

const whyByName = new Map(refused.flatMap(([why, names]) => names.split(" ").map((name) => [name, why] as const)));

/** The options with which a harmless program runs another one, or sets a variable. */
const launching: Readonly<Record<string, RegExp>> = {
  find: /^-(?:exec|execdir|ok|okdir)$/,
  fd: /^(?:--exec|-[a-zA-Z]*[xX])/,
  fdfind: /^(?:--exec|-[a-zA-Z]*[xX])/,
  rg: /^--(?:pre|hostname-bin)(?:=|$)/,
  printf: /^-v/,
};

/** Why a program may not be run, whatever it is given. A file system may not tell capitals apart, nor need an ending or a version. */
export function whyRefused(program: string): string | undefined {
  const name = plainName(program);
  // GNU's programs have this prefix beside those of another system.
  const why =
    whyByName.get(name) ?? whyByName.get(withoutVersion(name)) ?? whyByName.get(withoutVersion(name).replace(/^g/, ""));
  return why && `${program} ${why}`;
}

/** Why a program may not be given these words. */
export function whyLaunching(program: string, words: readonly string[]): string | undefined {
  const name = plainName(program);
  const option = launching[name] ?? launching[name.replace(/^g/, "")];
  const found = option && words.find((word) => option.test(word));
  return found && `${program} ${found} does more than its name says`;
}

function plainName(program: string): string {
  return program.toLowerCase().replace(/\.(?:exe|cmd|bat|com|ps1)$/, "");
}

/** As a loop, because an expression for it takes the square of the digits in the middle of a name. */
function withoutVersion(name: string): string {
  let end = name.length;
  while (end > 1 && "0123456789.-".includes(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
}
