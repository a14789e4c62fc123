/** A vitest reporter that ends the run with `N passed, N failed`; whatever made the run fail counts as failed. */
export default class ClosingLine {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === "passed").length;
    const failed = tests.filter((test) => test.result().state === "failed").length;
    const moduleErrors = modules.flatMap((module) => module.errors());
    console.log(`${passed} passed, ${failed + moduleErrors.length + unhandledErrors.length} failed`);
  }
}
