import type { Fault } from '../fault.js';

const SNAPSHOTS = 'shared/variables/snapshot-store.ts';
const VARIABLES = 'api/resources/variables/commands.ts';
const RESOLVE = 'shared/variables/resolve-variables.ts';

export const VARIABLES_FAULTS: readonly Fault[] = [
  {
    name: 'snapshot: erased before its deployment ends',
    file: SNAPSHOTS,
    find: 'd.finished_at is null\n',
    replace: 'false\n',
  },
  {
    name: 'snapshot: erased although it can be rolled back to',
    file: SNAPSHOTS,
    find: "i.removed_at is null and d.status = 'live'",
    replace: 'false',
  },
  {
    name: 'snapshot: erased while a replica runs with it',
    file: SNAPSHOTS,
    find: "where r.service_id = $1 and r.state <> 'stopped'",
    replace: 'where false and r.service_id = $1',
  },
  {
    name: 'snapshot: kept for good',
    file: SNAPSHOTS,
    find: 'where s.service_id = $1 and not exists',
    replace: 'where false and s.service_id = $1 and not exists',
  },
  {
    name: 'variables: one too many',
    file: VARIABLES,
    find: 'count >= MAX_VARIABLES',
    replace: 'count > MAX_VARIABLES',
  },
  {
    name: 'variables: one byte less than allowed',
    file: VARIABLES,
    find: 'bytes + added <= VARIABLES_BYTES',
    replace: 'bytes + added < VARIABLES_BYTES',
  },
  { name: 'variables: keys do not count', file: VARIABLES, find: 'Buffer.byteLength(key) + (', replace: '0 + (' },
  {
    name: 'variables: the group wins over the service',
    file: 'shared/variables/source-store.ts',
    find: 'order by key, rank desc',
    replace: 'order by key, rank',
  },
  {
    name: 'variables: the group linked first wins',
    file: 'shared/variables/source-store.ts',
    find: 'rank desc, linked_at desc',
    replace: 'rank desc, linked_at',
  },
  {
    name: 'variables: a circle is followed',
    file: RESOLVE,
    find: 'if (path.includes(step))',
    replace: 'if (path.length > 40)',
  },
  {
    name: 'variables: an archived provider lends',
    file: RESOLVE,
    find: 'if (provider.archived)',
    replace: 'if (false)',
  },
  {
    name: 'variables: a protected environment lends to everybody',
    file: RESOLVE,
    find: 'if (provider.protected_environment !== null)',
    replace: 'if (false)',
  },
];
