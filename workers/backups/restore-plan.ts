/** What a restore finds on the volume: the replaced data under its temporary name, and data in its place. */
export interface ObservedRestore {
  before: boolean;
  data: boolean;
}

/**
 * Decides how a restore continues after its worker died.
 * A restore moves the data aside and then puts the copy in its place. If both are there, the replacement is done: the
 * server runs on the restored data, and restoring again would lose later writes. If the data was moved aside and
 * nothing replaced it, it is put back first. In every other case the restore starts again.
 */
export function decideRestore({ before, data }: ObservedRestore): 'begin' | 'putBack' | 'confirm' {
  if (!before) return 'begin';
  return data ? 'confirm' : 'putBack';
}
