import { type ModelConfig, modelsIn, openModel } from "../turns/index.ts";
import { bad, good, type Finding } from "./finding.ts";

/** How long an endpoint may take to answer. */
const answerMs = 5_000;

/** Checks the key and the package of each model, and that its endpoint answers. No key is sent, because that may cost money. */
export async function checkModels(config: ModelConfig, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const models = modelsIn(config);
  const opened = models.map(async (model) => {
    const { apiKeyEnv } = model.settings;
    try {
      await openModel(model, env);
      return good("runtime", apiKeyEnv === undefined ? "uses a model without a key" : `${apiKeyEnv} is set`);
    } catch (error) {
      return bad("runtime", error instanceof Error ? error.message : String(error));
    }
  });
  const addresses = new Map(models.map(({ place, settings }) => [settings.baseUrl, place]));
  const answered = Array.from(addresses, ([url, place]) => checkEndpoint(url, place));
  return Promise.all([...opened, ...answered]);
}

/** Checks that a model endpoint answers. Any status below 500 is fine, because the request has no key. */
async function checkEndpoint(url: string, place: string): Promise<Finding> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(answerMs) });
    await response.body?.cancel();
    if (response.status < 500) return good("model endpoint", `${url} answers`);
    return bad(
      "model endpoint",
      `${url} answers with ${response.status}. Look at its own log, or set another ${place}.baseUrl.`,
    );
  } catch (error) {
    return bad(
      "model endpoint",
      `${url} does not answer (${whyOf(error)}). Check ${place}.baseUrl, the network, and whether the model runs.`,
    );
  }
}

function whyOf(error: unknown): string {
  if (error instanceof Error && error.name === "TimeoutError") return `nothing within ${answerMs / 1000} s`;
  const { cause } = error as { cause?: unknown };
  if (cause instanceof Error) return "code" in cause ? String(cause.code) : cause.message;
  return error instanceof Error ? error.message : String(error);
}
