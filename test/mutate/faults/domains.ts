// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

export const DOMAINS_FAULTS: readonly Fault[] = [
  {
    name: 'domain: two workspaces serve one name',
    file: 'shared/domains/commands.ts',
    find: 'if (!(await isTaken(trx, domain)))',
    replace: 'if (true)',
  },
  {
    name: 'domain: two that prove a name at once do not wait',
    file: 'shared/domains/commands.ts',
    find: 'await lockUntilCommit(trx, `domain ${domain.hostname}`);',
    replace: '',
  },
  {
    name: 'domain: the name of a deleted service is free at once',
    file: 'shared/domains/store.ts',
    find: 'released_at > now() - make_interval(days => ${RESERVED_DAYS})',
    replace: 'false',
  },
  {
    name: 'domain: names of a deleted service are given back early',
    file: 'shared/domains/store.ts',
    find: 'RESERVED_DAYS = 7',
    replace: 'RESERVED_DAYS = 5',
  },
  {
    name: 'domain: the edges do not learn that a name is proven',
    file: 'shared/domains/store.ts',
    find: 'row.status !== before.status || ',
    replace: '',
  },
  {
    name: 'domain: the edges do not learn that a name leads elsewhere',
    file: 'shared/domains/store.ts',
    find: ' || row.leads_here !== before.leads_here',
    replace: '',
  },
  {
    name: 'domain: the edges go on with a name that was removed',
    file: 'shared/domains/store.ts',
    find: 'await publishRouteChange(trx, domain.service_id);',
    replace: '',
  },
  {
    name: 'domain: any service removes it',
    file: 'shared/domains/store.ts',
    find: '.where({ id, service_id: serviceId })',
    replace: '.where({ id })',
  },
  {
    name: 'domain: two workers check it at once',
    file: 'shared/domains/store.ts',
    find: 'set next_check_at = now() + make_interval(mins => ${CLAIM_MINUTES})',
    replace: 'set next_check_at = next_check_at',
  },
  {
    name: 'domain: names of the platform are taken',
    file: 'shared/domains/model.ts',
    find: 'if (taken !== undefined)',
    replace: 'if (false)',
  },
  {
    name: 'domain: the proof is good for every workspace',
    file: 'shared/domains/model.ts',
    find: '\\n${workspaceId}\\n',
    replace: '\\n',
  },
  {
    name: 'domain: one look without the record ends it',
    file: 'shared/domains/model.ts',
    find: 'now.getTime() - since.getTime() >= MISSING_MS',
    replace: 'true',
  },
  {
    name: 'domain: name servers that are away end it',
    file: 'shared/domains/model.ts',
    find: "if (seen.proof === 'away')",
    replace: 'if (false)',
  },
];
