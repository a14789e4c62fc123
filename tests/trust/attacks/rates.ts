import { attack, type Attack, type Group, type Seen } from "./attack.ts";
import { http, mcp } from "./surfaces.ts";
import { openWorld, type Person, type World } from "./world.ts";

const ok = "200 computed";
const reach = (world: World, as: Person) => http(world, "/v1/reach", { as });

/** So many requests at once, of which some are admitted and the rest told to wait. */
async function burst(send: () => Promise<Seen>): Promise<Seen> {
  const answers = await Promise.all(Array.from({ length: 120 }, send));
  const known = new Set([ok, "200", "429 rate_limited"]);
  const strange = answers.find(({ says }) => !known.has(says));
  return (
    strange ?? {
      says: answers.some(({ says }) => says.startsWith("429")) ? "some 429 rate_limited" : "all admitted",
      text: "",
    }
  );
}

/** What is refused when one credential sends too much, beside another that is served. */
function bursting(
  name: string,
  surface: Attack["surface"],
  send: (world: World) => Promise<Seen>,
  other: (world: World) => Promise<Seen>,
  succeeds: string,
): Attack {
  return attack({
    name,
    surface,
    attack: (world) => burst(() => send(world)),
    held: "some 429 rate_limited",
    control: other,
    succeeds,
  });
}

const rows: readonly Attack[] = [
  bursting(
    "One credential sends more than it may",
    "HTTP",
    (world) => reach(world, "bob"),
    (world) => reach(world, "helper"),
    ok,
  ),
  bursting(
    "One credential sends more than it may, through MCP",
    "MCP",
    (world) => mcp(world, "alice", "tools/list", {}),
    (world) => reach(world, "globexAlice"),
    ok,
  ),
  bursting(
    "One credential asks who it is more often than it may send requests",
    "HTTP",
    (world) => http(world, "/whoami", { as: "bob" }),
    (world) => http(world, "/whoami", { as: "helper" }),
    "200",
  ),
  bursting(
    "One operator sends more than they may",
    "HTTP",
    (world) => http(world, "/admin/v1/session", { as: "acmeAuditor" }),
    (world) => http(world, "/admin/v1/session", { as: "secondReviewer" }),
    "200",
  ),
  attack({
    name: "An attacker names themselves anew with each request, to have an allowance for each",
    surface: "HTTP",
    attack: (world) =>
      burst(() =>
        http(world, "/v1/reach", {
          as: "bob",
          headers: {
            "x-forwarded-for": world.fresh("10.0.0."),
            "x-trace-id": world.fresh("trace"),
            "x-authority": `human:${world.fresh()}`,
          },
        }),
      ),
    held: "some 429 rate_limited",
    control: (world) => reach(world, "helper"),
    succeeds: ok,
  }),
];

/** What is used up comes back within a minute, and those who are served beside it send little: the attacks come in any order. */
export const rates: Group = {
  name: "rates",
  open: () => openWorld({ flags: { "limits.requestsPerSecond": "1", "limits.burst": "60" } }),
  attacks: rows,
};
