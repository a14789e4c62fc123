/** A mistake in the configuration, in words for whoever made it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
