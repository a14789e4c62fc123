import type { Act, Capability, Constraints, Grant, JsonObject } from "turnpike/contracts";
import type { GrantComparison, Region } from "turnpike/kernel";

const alice = { kind: "human", userId: "alice" } as const;
const notes = { namespace: "files", path: ["notes"] };

interface NameCase {
  name: string;
  text: string;
  shown: string;
}

/** What is shown of a name or another text, by the command and by the page. A new way to mislead is a new row. */
export const nameCases: readonly NameCase[] = [
  { name: "plain text", text: "notes/todo.md", shown: "notes/todo.md" },
  { name: "text of other scripts", text: "Grüße 漢字 שלום مرحبا", shown: "Grüße 漢字 שלום مرحبا" },
  { name: "an override of direction", text: "pay\u202Eevil", shown: "pay<U+202E>evil" },
  { name: "an isolate of direction", text: "\u2066x\u2069", shown: "<U+2066>x<U+2069>" },
  { name: "what has no width", text: "a\u200Bb\u2060\uFEFFc", shown: "a<U+200B>b<U+2060><U+FEFF>c" },
  { name: "what a terminal obeys", text: "\u001B[2J\n", shown: "<U+001B>[2J<U+000A>" },
  { name: "tags", text: "a\u{E0041}", shown: "a<U+E0041>" },
  { name: "a variation selector", text: "a\uFE0F", shown: "a<U+FE0F>" },
  { name: "half of a character", text: "a\uD800", shown: "a<U+D800>" },
  { name: "a character that no font has", text: "a\uE000", shown: "a<U+E000>" },
  { name: "a space that is none", text: "a\u00A0b\u2800", shown: "a<U+00A0>b<U+2800>" },
  { name: "a space at the end", text: "bob  ", shown: "bob<U+0020><U+0020>" },
  { name: "text that says the number of a character", text: "a<U+202E>b", shown: "a<U+003C>U+202E>b" },
  { name: "text that says the number of a <", text: "<U+003C>U+202E>", shown: "<U+003C>U+003C>U+202E>" },
  { name: "a < that is no number", text: "a < b, <U+>", shown: "a < b, <U+>" },
  { name: "Cyrillic letters in a Latin word", text: "p\u0430yp\u0430l", shown: "p<U+0430>yp<U+0430>l" },
  {
    name: "one Latin letter in a word that only looks Latin",
    text: "\u0440\u0430\u0443\u0440\u0430l",
    shown: "<U+0440><U+0430><U+0443><U+0440><U+0430>l",
  },
  { name: "a Greek letter in a Latin word", text: "b\u03BFb", shown: "b<U+03BF>b" },
  { name: "a Latin letter in a Cyrillic word", text: "Сбеpбанк", shown: "Сбе<U+0070>банк" },
  {
    name: "a Cyrillic word that looks Latin",
    text: "files/\u0440\u0430\u0443",
    shown: "files/<U+0440><U+0430><U+0443>",
  },
  { name: "a Russian sentence", text: "Он с ней у моря", shown: "Он с ней у моря" },
  { name: "words of two scripts beside each other", text: "Мой iPhone", shown: "Мой iPhone" },
  { name: "Japanese with Latin letters", text: "Tシャツを買う", shown: "Tシャツを買う" },
  { name: "letters for formulas", text: "\u{1D5C9}ay", shown: "<U+1D5C9>ay" },
  { name: "a letter with its mark apart", text: "cafe\u0301", shown: "cafe<U+0301>" },
  { name: "a letter with its mark in it", text: "caf\u00E9", shown: "caf\u00E9" },
  { name: "a double of a letter", text: "\u212Aelvin", shown: "<U+212A>elvin" },
  { name: "a mark without a letter", text: "\u0338a \u0338", shown: "<U+0338>a <U+0338>" },
  {
    name: "a tower of marks",
    text: `x${"\u0363".repeat(6)}`,
    shown: `x${"\u0363".repeat(4)}<U+0363><U+0363>`,
  },
];

interface CutCase {
  name: string;
  text: string;
  /** The most characters that are shown. */
  most: number;
  shown: string;
  /** How many characters are left out. */
  left: number;
}

/** What is shown of a text that is too long. No number and no character is cut in two. */
export const cutCases: readonly CutCase[] = [
  { name: "at the limit", text: "abcdef", most: 6, shown: "abcdef", left: 0 },
  { name: "in a word", text: "abcdef", most: 4, shown: "abcd", left: 2 },
  { name: "before a number that does not fit", text: "ab\u202ecd", most: 6, shown: "ab", left: 10 },
  { name: "behind a number that fits", text: "ab\u202ecd", most: 10, shown: "ab<U+202E>", left: 2 },
  { name: "before a character of two halves", text: "ab🙂", most: 3, shown: "ab", left: 2 },
  { name: "before a letter with marks", text: "abx\u0363\u0363", most: 4, shown: "ab", left: 3 },
];

interface CapabilityCase {
  name: string;
  capability: Capability;
  shown: string;
}

/** What is shown of one part of a grant. */
export const capabilityCases: readonly CapabilityCase[] = [
  {
    name: "one action at one place",
    capability: { resource: notes, actions: ["read"], scope: "exact" },
    shown: "read files/notes",
  },
  {
    name: "everything in a namespace",
    capability: { resource: { namespace: "files", path: [] }, actions: ["*"], scope: "descendants" },
    shown: "* files/**",
  },
  {
    name: "an owner",
    capability: { resource: { ...notes, owner: alice }, actions: ["read", "list"], scope: "descendants" },
    shown: "read,list files/notes/** of human:alice",
  },
  {
    name: "approval",
    capability: { resource: notes, actions: ["read"], scope: "exact", approval: "each" },
    shown: "read files/notes (needs approval)",
  },
  {
    name: "an owner and approval",
    capability: { resource: { ...notes, owner: alice }, actions: ["read"], scope: "exact", approval: "each" },
    shown: "read files/notes of human:alice (needs approval)",
  },
  {
    name: "a step that reads like an owner",
    capability: { resource: { namespace: "files", path: ["notes of human:bob"] }, actions: ["read"], scope: "exact" },
    shown: `read files/"notes of human:bob"`,
  },
  {
    name: "a step that reads like everything below",
    capability: { resource: { namespace: "files", path: ["notes", "**"] }, actions: ["read"], scope: "exact" },
    shown: `read files/notes/"**"`,
  },
  {
    name: "a namespace with a slash",
    capability: { resource: { namespace: "files/notes", path: [] }, actions: ["read"], scope: "exact" },
    shown: `read "files/notes"`,
  },
  {
    name: "an action that reads like several",
    capability: { resource: notes, actions: ["read,list"], scope: "exact" },
    shown: `"read,list" files/notes`,
  },
  {
    name: "hidden characters",
    capability: { resource: { namespace: "files", path: ["a\u202Eb"] }, actions: ["read"], scope: "exact" },
    shown: "read files/a<U+202E>b",
  },
];

interface ConstraintsCase {
  name: string;
  constraints: Constraints;
  used?: number;
  shown: string;
}

/** What is shown of the terms of a grant. */
export const constraintsCases: readonly ConstraintsCase[] = [
  { name: "no terms", constraints: {}, shown: "" },
  { name: "one use", constraints: { maxUses: 1 }, shown: "1 use" },
  { name: "no use at all", constraints: { maxUses: 0 }, shown: "0 uses" },
  { name: "some of the uses", constraints: { maxUses: 3 }, used: 1, shown: "3 uses, 1 used" },
  {
    name: "budgets",
    constraints: {
      budgets: [
        { unit: "EUR", limit: "20.50", per: "day", each: "5" },
        { unit: "mails", limit: "100" },
      ],
    },
    shown: "EUR 20.50 per day, 5 each, mails 100",
  },
  { name: "not delegable", constraints: { delegationDepth: 0 }, shown: "delegable 0" },
  {
    name: "a purpose that reads like another term",
    constraints: { purposes: ["support, until 2020-01-01T00:00:00Z"] },
    shown: `for "support, until 2020-01-01T00:00:00Z"`,
  },
  {
    name: "every term",
    constraints: {
      purposes: ["support", "billing"],
      notBefore: "2026-01-01T00:00:00Z",
      expiresAt: "2026-02-01T00:00:00Z",
      maxUses: 3,
      delegationDepth: 2,
    },
    shown: "for support or billing, from 2026-01-01T00:00:00Z, until 2026-02-01T00:00:00Z, 3 uses, delegable 2",
  },
];

interface ActCase {
  name: string;
  act: Act;
  shown: string;
}

/** What is shown of an act without its arguments. */
export const actCases: readonly ActCase[] = [
  {
    name: "an effect elsewhere",
    act: {
      kind: "act",
      tool: "deploy",
      needs: [
        { action: "run", resource: { namespace: "shell", path: ["deploy"] } },
        { action: "read", resource: notes },
      ],
      arguments: { to: "production" },
    },
    shown: "carry out deploy: run shell/deploy; read files/notes",
  },
  { name: "a tool", act: { kind: "tool", tool: "mail.send", arguments: {} }, shown: "call mail.send" },
  {
    name: "a resource",
    act: { kind: "resource", action: "read", resource: notes },
    shown: "read files/notes",
  },
  {
    name: "a resource of an owner",
    act: { kind: "resource", action: "read", resource: { ...notes, owner: alice } },
    shown: "read files/notes of human:alice",
  },
  {
    name: "a message",
    act: { kind: "message", receiver: alice, payload: "hi" },
    shown: "send a message to human:alice",
  },
  {
    name: "a turn",
    act: { kind: "turn", agent: { kind: "agent", agentId: "assistant" }, sender: alice, payload: 1 },
    shown: "start a turn of agent:assistant for human:alice",
  },
  {
    name: "a tool with hidden characters",
    act: { kind: "tool", tool: "a\u202Eb\u001B[2J", arguments: {} },
    shown: "call a<U+202E>b<U+001B>[2J",
  },
  {
    name: "a tool that reads like more",
    act: { kind: "tool", tool: "mail.send with exactly these arguments", arguments: {} },
    shown: `call "mail.send with exactly these arguments"`,
  },
];

/** What is shown of what was decided about, of human:alice where it names no owner, and of a row of the audit log about it. */
export const decisionCases = [
  {
    name: "an act that names no owner",
    request: { action: "read", resource: notes },
    shown: "read files/notes of human:alice",
    row: "read files/notes",
  },
  {
    name: "an act that names an owner",
    request: { action: "read", resource: { ...notes, owner: { kind: "human", userId: "bob" } as const } },
    shown: "read files/notes of human:bob",
    row: "read files/notes of human:bob",
  },
  {
    name: "a step that reads like an owner",
    request: { action: "read", resource: { namespace: "files", path: ["notes of human:bob"] } },
    shown: `read files/"notes of human:bob" of human:alice`,
    row: `read files/"notes of human:bob"`,
  },
  {
    name: "an action that reads like more",
    request: { action: "read files/a or", resource: notes },
    shown: `"read files/a or" files/notes of human:alice`,
    row: `"read files/a or" files/notes`,
  },
];

interface ArgumentsCase {
  name: string;
  arguments: JsonObject;
  rows: readonly (readonly [name: string, value: string])[];
}

/** What is shown of the arguments of an act, before hidden characters are made visible. */
export const argumentsCases: readonly ArgumentsCase[] = [
  {
    name: "nested ones by their place",
    arguments: { to: [{ name: "Bob", tags: [] }, "carol"], options: { cc: { self: true } } },
    rows: [
      ["to[0].name", "Bob"],
      ["to[0].tags", "[]"],
      ["to[1]", "carol"],
      ["options.cc.self", "true"],
    ],
  },
  {
    name: "names that could be taken for several",
    arguments: { "a.b": 1, a: { b: 2, "c.d": 3 }, "e[0]": 4, "": 5 },
    rows: [
      [`["a.b"]`, "1"],
      ["a.b", "2"],
      [`a["c.d"]`, "3"],
      [`["e[0]"]`, "4"],
      [`[""]`, "5"],
    ],
  },
  {
    name: "texts that could be taken for something else",
    arguments: { a: "5", b: "true", c: "null", d: null, e: "", f: "a ", g: '"a"', h: "5 apples", i: {}, j: "{}" },
    rows: [
      ["a", '"5"'],
      ["b", '"true"'],
      ["c", '"null"'],
      ["d", "null"],
      ["e", '""'],
      ["f", '"a "'],
      ["g", String.raw`"\"a\""`],
      ["h", "5 apples"],
      ["i", "{}"],
      ["j", '"{}"'],
    ],
  },
  { name: "several lines", arguments: { body: "Hello\nBob\n" }, rows: [["body", "Hello\nBob\n"]] },
  {
    name: "a name with a letter that passes for another",
    arguments: { "\u0430mount": 1 },
    rows: [[`["\u0430mount"]`, "1"]],
  },
];

/** Why escalations were closed, and how that is said. */
export const closedCases = [
  {
    closed: { reason: "credential_revoked", credential: "c1" },
    text: "the credential c1 that it was asked with was revoked",
  },
  { closed: { reason: "credential_expired" }, text: "the credential that it was asked with has expired" },
  { closed: { reason: "grant_revoked", grantId: "pay bob" }, text: 'its grant "pay bob" was revoked' },
  { closed: { reason: "grant_expired", grantId: "g1" }, text: "its grant g1 has expired" },
  { closed: { reason: "turn_cancelled" }, text: "its turn was cancelled" },
  { closed: { reason: "turn_ended" }, text: "its turn has ended" },
] as const;

interface ConsideredCase {
  /** The first condition that a grant failed; undefined when it failed none. */
  failed: string | undefined;
  /** What the grant differs in from one of Alice to read and list `files/notes`. */
  terms?: Partial<Grant>;
  rule?: string;
  shown: string;
}

const mayRead: Capability = { resource: notes, actions: ["read", "list"], scope: "descendants" };
const sendsMail: Capability = { resource: { namespace: "mail", path: [] }, actions: ["send"], scope: "exact" };

/** Why a grant did not carry Alice's agent's writing of her `files/private/diary.md`, for `support`. */
export const consideredCases: readonly ConsideredCase[] = [
  { failed: "not-issued", shown: "It is issued only at 2026-01-01T12:00:00Z." },
  {
    failed: "not-yet-valid",
    terms: { constraints: { notBefore: "2026-02-01T00:00:00Z" } },
    shown: "It begins only at 2026-02-01T00:00:00Z.",
  },
  {
    failed: "expired",
    terms: { constraints: { expiresAt: "2026-02-01T00:00:00Z" } },
    shown: "It ended at 2026-02-01T00:00:00Z.",
  },
  { failed: "revoked", shown: "It was revoked." },
  {
    failed: "revoked",
    terms: { revokedAt: "2026-01-03T00:00:00Z" },
    shown: "It was revoked at 2026-01-03T00:00:00Z.",
  },
  {
    failed: "purpose",
    terms: { constraints: { purposes: ["billing", "sales"] } },
    shown: "It is for billing or sales alone, not for support.",
  },
  {
    failed: "purpose",
    terms: { constraints: { purposes: ["billing alone, not for tests"] } },
    shown: 'It is for "billing alone, not for tests" alone, not for support.',
  },
  { failed: "namespace", terms: { capabilities: [sendsMail, sendsMail] }, shown: "It is about mail, not about files." },
  {
    failed: "owner",
    terms: {
      capabilities: [sendsMail, { ...mayRead, resource: { ...notes, owner: { kind: "human", userId: "bob" } } }],
    },
    shown: "It is about what is human:bob's, not human:alice's.",
  },
  {
    failed: "action",
    terms: { capabilities: [mayRead, { ...mayRead, actions: ["list", "stat"] }, sendsMail] },
    shown: "There it allows to read, list and stat, not to write.",
  },
  {
    failed: "path",
    terms: { capabilities: [mayRead, sendsMail] },
    shown: "It covers read,list files/notes/**, and files/private/diary.md lies outside of that.",
  },
  {
    failed: "not-admitted",
    shown: "It was not there when the turn began, and a turn never gains what came later.",
  },
  { failed: "delegation_chain_invalid", shown: "Something above it no longer holds." },
  {
    failed: "delegation_chain_invalid",
    rule: "parent_inactive",
    shown: "Something above it no longer holds: parent_inactive.",
  },
  { failed: "delegation_chain_unverified", shown: "The grants above it could not be read." },
  { failed: "host_policy_denied", shown: "The policy of this host says no." },
  { failed: "host_policy_unavailable", shown: "The policy of this host gave no answer." },
  { failed: "grant_exhausted", shown: "It has been used as often as it may be." },
  {
    failed: "grant_exhausted",
    terms: { constraints: { maxUses: 2, delegationDepth: 1 } },
    shown: "It has been used as often as it may be: 2 uses.",
  },
  { failed: "usage_store_unavailable", shown: "Its uses could not be read." },
  { failed: "budget_exhausted", shown: "Its budget has too little left." },
  { failed: "budget_unit", shown: "Its budget has other units." },
  { failed: "amount_required", shown: "The act names no cost." },
  { failed: "budget_store_unavailable", shown: "Its budget could not be read." },
  {
    failed: "approval_required",
    terms: { capabilities: [sendsMail, { ...mayRead, approval: "each" }] },
    shown: "A person has to approve exactly this act: read,list files/notes/** (needs approval).",
  },
  {
    failed: "approval_denied",
    terms: { capabilities: [{ ...mayRead, approval: "each" }] },
    shown: "A person denied this act: read,list files/notes/** (needs approval).",
  },
  {
    failed: "approval_expired",
    terms: { capabilities: [{ ...mayRead, approval: "each" }] },
    shown: "This act was not approved in time: read,list files/notes/** (needs approval).",
  },
  { failed: "permit_store_unavailable", shown: "What people said about this act could not be read." },
  { failed: "something_new", shown: "The host says: something_new." },
  { failed: "constructor", shown: "The host says: constructor." },
  { failed: undefined, shown: "It was not needed." },
  { failed: undefined, terms: { id: "it" }, shown: "It allows this." },
];

const everyRequest: Region = {
  subject: { kind: "agent", agentId: "assistant" },
  authority: alice,
  owner: { not: [] },
  ...notes,
  scope: "descendants",
  actions: ["read", "list"],
  purposes: { not: [] },
  terms: [{}],
  by: ["grant-1"],
};
const bob = { kind: "human", userId: "bob" } as const;

/** What is shown of requests that grants decide alike, since 2026-01-01T12:00:00Z. */
export const regionCases: readonly { region: Partial<Region>; shown: string }[] = [
  {
    region: {},
    shown: "agent:assistant may read and list files/notes/** of any owner, on grants of human:alice, for any purpose",
  },
  {
    region: { scope: "exact", owner: [alice, bob], purposes: ["support", "a b"], from: "2026-01-01T12:00:00Z" },
    shown:
      'agent:assistant may read and list files/notes of human:alice or human:bob, on grants of human:alice, for support or "a b"',
  },
  {
    region: {
      actions: { not: [] },
      except: [
        { path: ["notes", "old"], scope: "descendants" },
        { path: ["notes", "a"], scope: "exact" },
      ],
      from: "2026-02-01T00:00:00Z",
      until: "2026-03-01T00:00:00Z",
    },
    shown:
      "agent:assistant may do anything in files/notes/** except files/notes/old/** and files/notes/a of any owner, on grants of human:alice, for any purpose, from 2026-02-01T00:00:00Z, until 2026-03-01T00:00:00Z",
  },
  {
    region: { actions: { not: ["read", "list"] }, owner: { not: [bob] }, purposes: { not: ["support"] } },
    shown:
      "agent:assistant may do anything but read and list in files/notes/** of any owner but human:bob, on grants of human:alice, for any purpose but support",
  },
  {
    region: { terms: [{ approval: "each" }, { maxUses: 1 }, { approval: "each", maxUses: 3 }] },
    shown:
      "agent:assistant may read and list files/notes/** of any owner, on grants of human:alice, for any purpose, with a person's approval each time, once or at most 3 times and with a person's approval each time",
  },
];

/** What is shown of a change of grants. */
export const comparisonCases: readonly { name: string; comparison: Partial<GrantComparison>; lines: string[] }[] = [
  { name: "nothing", comparison: {}, lines: ["For all requests, now and later, nothing opens, closes or changes."] },
  {
    name: "everything",
    comparison: {
      opened: [{ ...everyRequest, actions: ["read"] }],
      closed: [{ ...everyRequest, actions: ["list"] }],
      changed: [
        { ...everyRequest, actions: ["stat"], terms: [{ maxUses: 2 }], was: [{ maxUses: 1 }] },
        { ...everyRequest, actions: ["send"], was: [{ approval: "each" }], wider: true },
      ],
      more: true,
    },
    lines: [
      "Opened:",
      "  agent:assistant may read files/notes/** of any owner, on grants of human:alice, for any purpose",
      "No longer needs approval:",
      "  agent:assistant may send files/notes/** of any owner, on grants of human:alice, for any purpose: without conditions, and it was with a person's approval each time",
      "Closed:",
      "  agent:assistant may list files/notes/** of any owner, on grants of human:alice, for any purpose",
      "On other terms:",
      "  agent:assistant may stat files/notes/** of any owner, on grants of human:alice, for any purpose: at most 2 times, and it was once",
      "There is more than this.",
    ],
  },
];

/** Such a region. */
export function regionOf(region: Partial<Region>): Region {
  return { ...everyRequest, ...region };
}
