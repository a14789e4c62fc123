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
  access: room(host, "access", [`${host}/src/protocols/**/*.test.ts`, `${host}/src/front/*.test.ts`]),
  ledger: room(host, "ledger", [`${host}/src/compose/*.test.ts`]),
  turns: room(host, "turns", []),
  audit: room(host, "audit", []),
  escalations: room(host, "escalations", [`${host}/src/protocols/**/*.test.ts`]),
};

function room(workspace, name, furtherTests) {
  const sources = `${workspace}/src/${name}`;
  return { sources, tests: [`${sources}/**/*.test.ts`, ...furtherTests] };
}
