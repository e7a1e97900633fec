// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

export const SCALING_FAULTS: readonly Fault[] = [
  {
    name: 'scaling: goes on while a deployment is under way',
    file: 'workers/scaling/store.ts',
    find: 'exists (select from deployments o where o.service_id = s.id and o.finished_at is null)\n              or ',
    replace: '',
  },
  {
    name: 'scaling: old samples count',
    file: 'workers/scaling/store.ts',
    find: ' and x.sampled_at > now() - make_interval(secs => :freshSeconds)',
    replace: ' and cast(:freshSeconds as float8) > 0',
  },
  {
    name: 'scaling: samples of an earlier attempt count',
    file: 'workers/scaling/store.ts',
    find: ' and x.attempt = r.restarts',
    replace: '',
  },
  {
    name: 'scaling: replicas that just became ready count',
    file: 'workers/scaling/store.ts',
    find: 'r.ready_at < now() - make_interval(secs => :readySeconds) and',
    replace: 'cast(:readySeconds as float8) >= 0 and',
  },
  {
    name: 'scaling: two leaders decide',
    file: 'workers/scaling/store.ts',
    find: 'where c.version = :version returning service_id',
    replace: 'where cast(:version as bigint) is not null returning service_id',
  },
  {
    name: 'scaling: an older memory replaces a newer one',
    file: 'workers/scaling/store.ts',
    find: 'where c.version = (select version from seen where id = excluded.service_id)',
    replace: 'where true',
  },
  {
    name: 'scaling: a service that its owner scales',
    file: 'workers/scaling/store.ts',
    find: "where s.configuration ->> 'scaling' = 'auto' and s.deleted_at is null",
    replace: 'where s.deleted_at is null',
  },
  {
    name: 'scaling: replicas of runs count',
    file: 'workers/scaling/store.ts',
    find: ' and r.run_id is null',
    replace: '',
  },
  {
    name: 'scaling: two replicas go in a minute',
    file: 'workers/scaling/model.ts',
    find: ' && !justRemoved',
    replace: '',
  },
  {
    name: 'scaling: a replica goes at once',
    file: 'workers/scaling/model.ts',
    find: 'isQuiet && sufficed',
    replace: 'sufficed',
  },
  {
    name: 'scaling: a usage close to the target changes it',
    file: 'workers/scaling/model.ts',
    find: 'TOLERANCE = 0.1',
    replace: 'TOLERANCE = 0',
  },
  {
    name: 'scaling: more than doubles in a minute',
    file: 'workers/scaling/model.ts',
    find: 'Math.min(wish, most)',
    replace: 'wish',
  },
  {
    name: 'scaling: replicas without a sample are idle when one goes',
    file: 'workers/scaling/model.ts',
    find: 'ratio > 1 ? 0 : 100 * missing',
    replace: '0',
  },
];
