/** What a volume contains when a worker continues a restore. */
export interface ObservedRestore {
  /** True if the volume has the previous data, which the restore moved aside. */
  before: boolean;
  /** True if the volume has data in the place where the service uses it. */
  data: boolean;
}

/**
 * Decides how to continue a restore whose worker died. A restore moves the data of each volume aside and then puts the
 * restored data in its place. `begin`: no data was moved aside, so the restore starts again. `confirm`: each volume has
 * the data that was moved aside and the data that replaced it, so the restore is complete. The service runs on the
 * restored data, and restoring again would lose later writes. `putBack`: only a part of this was done. The data that
 * was moved aside is put back, and then the restore starts again.
 */
export function decideRestore(volumes: readonly ObservedRestore[]): 'begin' | 'putBack' | 'confirm' {
  if (!volumes.some(({ before }) => before)) return 'begin';
  return volumes.every(({ before, data }) => before && data) ? 'confirm' : 'putBack';
}
