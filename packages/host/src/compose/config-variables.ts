import { ConfigError, nearestName } from "../shared/index.ts";

/** Variables of the command itself. */
const ofTheCommand = ["TURNPIKE_ADMIN_TOKEN", "TURNPIKE_TOKEN", "TURNPIKE_URL"];

/** The name of a setting in the environment: `listen.port` is `TURNPIKE_LISTEN_PORT`. */
export function environmentName(key: string): string {
  return `TURNPIKE_${key.replaceAll(/[A-Z]/g, "_$&").replaceAll(".", "_").toUpperCase()}`;
}

/**
 * The settings in the environment, by their keys. Throws for a name that is almost that of a setting, and warns of any other
 * that is none.
 */
export function settingsIn(
  env: NodeJS.ProcessEnv,
  keys: readonly string[],
  warn: (message: string) => void,
): Record<string, string> {
  const known = new Map(keys.map((key) => [environmentName(key), key]));
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith("TURNPIKE_") || value === undefined) continue;
    if (ofTheCommand.includes(name) || isServiceLink(name, value)) continue;
    const key = known.get(name);
    if (key === undefined) reportUnknown(name, [...known.keys()], warn);
    else settings[key] = value;
  }
  return settings;
}

function reportUnknown(name: string, known: readonly string[], warn: (message: string) => void): void {
  const setting = nearestName(name, known);
  if (setting !== undefined)
    throw new ConfigError(`${name} is not a setting. Did you mean ${setting}?`, { code: "invalid_config" });
  const own = nearestName(name, ofTheCommand);
  warn(`${name} is not a setting, and is ignored.${own === undefined ? "" : ` Did you mean ${own}?`}`);
}

/** What Kubernetes puts into the environment about services whose names begin with turnpike. */
function isServiceLink(name: string, value: string): boolean {
  return (
    /_SERVICE_(?:HOST|PORT)$/.test(name) ||
    name.includes("_SERVICE_PORT_") ||
    /_PORT_\d{1,5}_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
    (name.endsWith("_PORT") && /^(?:tcp|udp|sctp):\/\//.test(value))
  );
}
