// The other driver. Plain JavaScript that is run where it is, because the package is installed beside it and nowhere else.
import postgres from "postgres";

/** Opens so many connections, and runs transactions on them. */
export function openPeer(url, max) {
  const client = postgres(url, { max });
  return {
    run: (statements) =>
      client.begin((sql) => statements.map(({ text, values }) => sql.unsafe(text, values, { prepare: true }))),
    end: () => client.end(),
  };
}
