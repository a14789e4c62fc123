import { quoted } from "./cedar-names.ts";

/** The schema of what is asked. Its actions are those that grants name; an action of another name fits no policy but those of every action. */
export function schemaOf(actions: readonly string[]): string {
  const named = actions.toSorted().map(quoted).join(",\n  ");
  return actions.length === 0 ? `${entityTypes}\n` : `${entityTypes}\n\naction\n  ${named}\n${appliesTo}\n`;
}

const entityTypes = `// What the policies of the grants are asked, and by what names.

entity Human, Agent, Group, Service;

// \`authority\` is on whose grants the principal acts, and \`owner\` is whose resource it is. Cedar has no type for one of several
// types of principals. So both are a party, which is in one principal: Party::"human:alice" is in Human::"alice". A principal is
// in itself; where requests are not checked by this schema, \`authority\` and \`owner\` may be principals.
entity Party in [Human, Agent, Group, Service];

// The namespace of a resource, percent-encoded, and the segments of its path, with slashes between: Place::"files/notes/todo.md".
// All places above are its parents. The place that is asked about is added to the entities by who asks.
entity Place in [Place];`;

const appliesTo = `appliesTo {
  principal: [Human, Agent, Group, Service],
  resource: [Place],
  context: { authority: Party, owner: Party, purpose: String, now: datetime },
};`;
