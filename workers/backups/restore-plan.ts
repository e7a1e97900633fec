/** What a restore finds on a volume: `before`, the data that was moved aside, and `data`, what the service uses. */
export interface ObservedRestore {
  before: boolean;
  data: boolean;
}

/**
 * Decides how to continue a restore whose worker died. A restore moves the data of each volume aside and then puts the
 * backup in its place. If both are present on every volume, the replacement is complete: the service runs on the
 * restored data, and restoring again would lose later writes. If only some data was replaced or moved aside, it is put
 * back first. In all other cases the restore starts again.
 */
export function decideRestore(volumes: readonly ObservedRestore[]): 'begin' | 'putBack' | 'confirm' {
  if (!volumes.some(({ before }) => before)) return 'begin';
  return volumes.every(({ before, data }) => before && data) ? 'confirm' : 'putBack';
}
