import type { Dialect } from "kysely";

/**
 * A dialect whose transactions fail with what made them fail. When the database has rolled back by itself (a full disk, a
 * connection that broke), rolling back fails as well, and kysely would throw that error and lose the first one.
 */
export function preserveCause(dialect: Dialect): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver() {
      const driver = dialect.createDriver();
      const rollBack = driver.rollbackTransaction.bind(driver);
      driver.rollbackTransaction = (connection) => rollBack(connection).catch(() => {});
      return driver;
    },
  };
}
