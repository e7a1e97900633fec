// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

export const DATA_FAULTS: readonly Fault[] = [
  {
    name: 'data: a deployment gives a server a new password',
    file: 'shared/data/store.ts',
    find: 'set version = excluded.version,',
    replace: 'set sealed_password = excluded.sealed_password, version = excluded.version,',
  },
  {
    name: 'data: its names change after the first data',
    file: 'shared/data/store.ts',
    find: 'where data_servers.initialized_at is null`',
    replace: 'where true`',
  },
  {
    name: 'data: another host gets the volume',
    file: 'shared/data/store.ts',
    find: 'case when initialized_at is null then :hostId else coalesce(host_id, :hostId) end',
    replace: ':hostId',
  },
  {
    name: 'data: a host that cannot run it gets it',
    file: 'shared/data/store.ts',
    find: ' and :kind = any(data_kinds)',
    replace: ' and cast(:kind as text) is not null',
  },
  {
    name: 'data: two operations hold it',
    file: 'shared/data/store.ts',
    find: 'where id = :serviceId and (held_until is null or held_until < now()) returning id',
    replace: 'where id = :serviceId returning id',
  },
  {
    name: 'data: a lost hold is renewed',
    file: 'shared/data/store.ts',
    find: 'hold_token = :token and held_until >= now()',
    replace: 'hold_token = :token',
  },
  {
    name: 'data: anybody releases a hold',
    file: 'shared/data/store.ts',
    find: 'where id = ? and hold_token = ?',
    replace: 'where id = ? and (true or hold_token = ?)',
  },
  {
    name: 'data: a volume is removed while it is used',
    file: 'shared/data/store.ts',
    find: '\n        and (d.held_until is null or d.held_until < now())',
    replace: '',
  },
  {
    name: 'data: the volume of a service that lives is removed',
    file: 'shared/data/store.ts',
    find: "s.deleted_at is not null and s.lifecycle_status = 'deleted'\n",
    replace: 'true\n',
  },
  {
    name: 'data: a server is marked away while all workers are',
    file: 'shared/data/store.ts',
    find: "and exists (select from workers where seen_at > now() - interval '${ONLINE_SECONDS} seconds')\n",
    replace: '\n',
  },
  {
    name: 'data: a host that only restarts is away',
    file: 'shared/data/store.ts',
    find: 'AWAY_SECONDS = 60',
    replace: 'AWAY_SECONDS = 0',
  },
  {
    name: 'data: a plan that is too small is taken',
    file: 'shared/data/commands.ts',
    find: 'if (server && server.used_bytes > bound)',
    replace: 'if (false)',
  },
  {
    name: 'data: another version reads the data',
    file: 'shared/data/commands.ts',
    find: 'if (wanted.version !== server.version)',
    replace: 'if (false)',
  },
  {
    name: 'data: one that others refer to is deleted',
    file: 'shared/data/commands.ts',
    find: 'if (names.length === 0)',
    replace: 'if (true)',
  },
  {
    name: 'data: a service with references of its group is left out',
    file: 'shared/data/store.ts',
    find: 'where v.reference_service_id = :serviceId and c.deleted_at is null\n       union all\n       select c.name from services c',
    replace: 'where false and c.deleted_at is null\n       union all\n       select c.name from services c',
  },
  {
    name: 'data: a database may be called like one of PostgreSQL',
    file: 'shared/data/model.ts',
    find: "lower.startsWith('pg_')",
    replace: "lower.startsWith('pg__')",
  },
  {
    name: 'data: redis has more memory than the plan',
    file: 'shared/data/model.ts',
    find: 'memoryMb * 0.45',
    replace: 'memoryMb * 1.45',
  },
];
