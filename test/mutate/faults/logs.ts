// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const LOG_LINES = 'api/resources/logs/read-lines.ts';
const INGEST = 'workers/logs/ingest-batches.ts';

export const LOGS_FAULTS: readonly Fault[] = [
  {
    name: 'retention: logs expire a day early',
    file: 'shared/logs/model.ts',
    find: "at time zone 'UTC')::date + ${days}",
    replace: "at time zone 'UTC')::date - 1 + ${days}",
  },
  {
    name: 'retention: logs are never deleted',
    file: 'shared/logs/log-retention.ts',
    find: "'YYYYMMDD') <= ${TODAY}",
    replace: "'YYYYMMDD') <= ${TODAY} - 10000",
  },
  {
    name: 'logs: lines do not wait behind batches that are older',
    file: 'workers/logs/store-lines.ts',
    find: 'and not exists (select from log_batches b where b.service_id = $1)',
    replace: '',
  },
  {
    name: 'logs: ids go against the order of the batches',
    file: INGEST,
    find: '(order by m.created_at, m.id, l.place)',
    replace: '(order by m.created_at desc, m.id desc, l.place)',
  },
  {
    name: 'logs: lines of a batch lose their order',
    file: INGEST,
    find: '(order by m.created_at, m.id, l.place)',
    replace: '(order by m.created_at, m.id, l.place desc)',
  },
  {
    name: 'logs: ids begin again',
    file: INGEST,
    find: 'await setLastLogId(trx, serviceId, last + lines);',
    replace: '',
  },
  { name: 'logs: two processes move one batch', file: INGEST, find: 'for update ${wait}', replace: '' },
  {
    name: 'logs: a refused batch is tried for ever',
    file: 'workers/logs/refused-batch.ts',
    find: 'const MAX_SPLITS = 40;',
    replace: 'const MAX_SPLITS = 40_000;',
  },
  {
    name: 'logs: lines behind a refused one are lost',
    file: 'workers/logs/refused-batch.ts',
    find: 'await this.store(middle, to);',
    replace: '',
  },
  {
    name: 'logs: a refused batch stays in the way',
    file: 'workers/logs/refused-batch.ts',
    find: "await trx.raw('delete from log_batches where id = ?', [batch.id]);",
    replace: '',
  },
  {
    name: 'logs: a batch has no bound of lines',
    file: 'workers/logs/batch-store.ts',
    find: 'BATCH_LINES = 1000',
    replace: 'BATCH_LINES = 100_000',
  },
  {
    name: 'logs: characters that cannot be stored are kept',
    file: 'workers/logs/batch-store.ts',
    find: "line.message.replace(UNSTORABLE, '\\ufffd')",
    replace: 'line.message',
  },
  {
    name: 'logs: the line of the cursor is read again',
    file: LOG_LINES,
    find: "where('id', '>', after)",
    replace: "where('id', '>=', after)",
  },
  { name: 'logs: another branch is shown', file: LOG_LINES, find: 'if (branch !== undefined)', replace: 'if (false)' },
  {
    name: 'logs: a search takes patterns',
    file: LOG_LINES,
    find: "search.replace(/[\\\\%_]/g, '\\\\$&')",
    replace: 'search',
  },
  {
    name: 'logs: lines past their hours are shown',
    file: LOG_LINES,
    find: 'query.hours * 3_600_000',
    replace: 'query.hours * 86_400_000',
  },
  {
    name: 'logs: there is always more',
    file: LOG_LINES,
    find: 'hasMore: found > page.length',
    replace: 'hasMore: found >= page.length',
  },
];
