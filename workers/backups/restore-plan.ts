/** What a restore finds on a volume that it has touched: the replaced data under its temporary name, and data in its place. */
export interface ObservedRestore {
  before: boolean;
  data: boolean;
}

/**
 * Decides how a restore continues after its worker died.
 * A restore moves the data of each volume aside and then puts the copy in its place. If both are there on every volume, the
 * replacement is done: the service runs on the restored data, and restoring again would lose later writes. If only some
 * data was replaced or moved aside, it is put back first. In every other case the restore starts again.
 */
export function decideRestore(volumes: readonly ObservedRestore[]): 'begin' | 'putBack' | 'confirm' {
  if (!volumes.some(({ before }) => before)) return 'begin';
  return volumes.every(({ before, data }) => before && data) ? 'confirm' : 'putBack';
}
