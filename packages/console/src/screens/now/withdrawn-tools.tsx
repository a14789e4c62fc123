import { may } from "../../shared/api.ts";
import { live } from "../../shared/events/live.ts";
import { addressOf } from "../../shared/place.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";

/** How many tools are named. The others are counted. */
const most = 6;

/** A line for each tool of an MCP server that is not what was accepted, with the way to its review. */
export function WithdrawnTools() {
  const tools = live.withdrawn.value;
  return (
    <div role="status">
      {tools.slice(0, most).map(({ server, tool }) => (
        <p key={`${server} ${tool}`} class="problem">
          <span>
            <ForeignText text={tool} /> of the MCP server <b>{server}</b> changed, and is withdrawn until{" "}
            {may("acceptMcpTools") ? "you accept it." : "an admin of all tenants accepts it."}
          </span>
          {may("reviewMcpServer") && <Link to={addressOf(["tools", "servers", server])}>Review what changed</Link>}
        </p>
      ))}
      {tools.length > most && <p class="problem">{tools.length - most} more tools changed.</p>}
    </div>
  );
}
