/**
 * The first halves of all advisory locks that hosts take on a PostgreSQL. INVARIANT: no two of them are equal, or hosts would wait for
 * what does not concern them. The numbers stay, because versions run side by side.
 */
export const advisoryLocks = {
  /** Held by each running host. The second half is the host's id. */
  presence: 7443,
  /** Under which turns are admitted, one host after the other. */
  admission: 7444,
  /** Held by the host that writes a strand of the audit log. The second half is the strand. */
  strand: 7445,
  /** Under which one host at a time removes what is old. */
  retention: 7446,
  anchors: 7447,
  /** Under which one host at a time removes what is left of deleted tenants. */
  deletedTenants: 7448,
  /** Of the function `open_turns_of`, which a migration made. */
  openTurns: 7449,
  /** Under which hosts that share a folder take turns at its checkpoint file. */
  checkpointFile: 7450,
  /** Under which one actor's escalations are counted. The second half is the actor. */
  escalations: 7451,
  /** Under which hosts lease strands one after the other, for the length of a transaction. */
  lease: 7460,
  /** Only shows whose session is whose. The second half is drawn. */
  probe: 7461,
} as const;
