// What can be mutated: the folder of a room, and the tests that have to notice.
const library = "packages/turnpike";
const host = "packages/host";

export const rooms = {
  kernel: room(library, "kernel", [`${library}/test/*.test.ts`]),
  runtime: room(library, "runtime", [`${library}/test/*.test.ts`]),
  http: {
    ...room(library, "http", [`${library}/test/*.test.ts`]),
    // Texts and examples of the API description, which a test holds against a file: they decide nothing.
    isDescription: (file) => file.startsWith("openapi"),
  },
  access: room(host, "access", [
    `${host}/src/protocols/admin/admin-handler.test.ts`,
    adminTests("operator-access", "session-*", "credential-*", "trial-*", "reach-*", "apply-*", "tenant-*"),
  ]),
  ledger: room(host, "ledger", [`${host}/src/compose/*.test.ts`]),
  front: room(host, "front", []),
  turns: room(host, "turns", []),
  audit: room(host, "audit", []),
  escalations: room(host, "escalations", [adminTests("escalation-*", "act-approvals")]),
  console: {
    sources: "packages/console/src",
    tests: ["packages/console/src/**/*.test.ts"],
    // What the page does. What it draws is seen in a browser.
    isSource: (file) => file === "app.tsx" || /^(shared|shell)\/.*\.ts$/.test(file),
  },
};

/** Those of the operators' interface that are about a room: all of them take minutes for each change that no one notices. */
function adminTests(...subjects) {
  return `${host}/src/protocols/admin/{${subjects.join(",")}}.database.test.ts`;
}

function room(workspace, name, furtherTests) {
  const sources = `${workspace}/src/${name}`;
  return { sources, tests: [`${sources}/**/*.test.ts`, ...furtherTests] };
}
