import { afterAll, beforeAll } from "vitest";
import { startDemo } from "../../scripts/start-host.js";
import { openBrowser, openConsole } from "./browser.js";

/**
 * A demo and a browser for the tests of a file. Both begin before its tests, and end behind them. `settings` is the configuration
 * of the demo and its variables, or makes them.
 */
export function useDemo(settings = {}) {
  const demo = {};
  const browser = {};
  let close = () => {};
  beforeAll(async () => {
    const { env, ...config } = typeof settings === "function" ? await settings() : settings;
    const [started, opened] = await Promise.all([startDemo(config, env), openBrowser()]);
    Object.assign(demo, started);
    browser.newContext = (options) => opened.newContext(options);
    close = async () => {
      await opened.close();
      await started.stop();
    };
  });
  afterAll(() => close());
  /** Opens the console as the operator of the demo, or as another one. */
  const open = (place, options = {}) =>
    openConsole(browser, { url: demo.url, operator: demo.operator, place, ...options });
  return { demo, browser, open };
}
