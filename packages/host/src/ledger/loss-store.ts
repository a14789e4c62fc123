import {
  acceptGaps,
  type Database,
  DatabaseWentBackError,
  type Gap,
  readGapStates,
  readOpenGaps,
  revokeAllCredentials,
  type Revisions,
} from "../storage/index.ts";

/** Rows that were acknowledged and that the database lost. */
export interface LossStore {
  /** The losses that no operator has accepted, whichever host noticed them. */
  listOpen(): Promise<readonly Gap[]>;
  /**
   * Throws `DatabaseWentBackError` while a loss is not accepted, as far as this process was told by the last read of a call. One that was
   * told of a loss reads again: an operator may have accepted it through another host.
   */
  requireWhole(): Promise<void>;
  /** The same, as of now. */
  checkWhole(): Promise<void>;
  /** Accepts every loss, and revokes all credentials on request. Returns how many. */
  accept(at: string, isRevoking: boolean): Promise<{ revokedCredentials: number }>;
  /** Those of these losses that an operator has accepted. */
  listAccepted(ids: readonly string[]): Promise<string[]>;
}

export function createLossStore({ db, history }: Database, revisions: Revisions): LossStore {
  const checkWhole = async (): Promise<void> => {
    await revisions.current();
    if (history.isBehind) throw new DatabaseWentBackError();
  };
  return {
    listOpen: () => readOpenGaps(db),
    async requireWhole() {
      if (history.isBehind) await checkWhole();
    },
    checkWhole,
    async accept(at, isRevoking) {
      const { stored } = history;
      const accepted = await revisions.write(async (transaction) => {
        await acceptGaps(transaction, at);
        return { revokedCredentials: isRevoking ? await revokeAllCredentials(transaction, at) : 0 };
      });
      history.told(false, stored);
      return accepted;
    },
    async listAccepted(ids) {
      const states = await readGapStates(db, ids);
      return ids.filter((id) => states.get(id) === "accepted");
    },
  };
}
