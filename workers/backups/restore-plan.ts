/** What a restore finds on a volume: `before`, the data that was moved aside, and `data`, what the service uses. */
export interface ObservedRestore {
  before: boolean;
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
