// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

export const BACKUPS_FAULTS: readonly Fault[] = [
  {
    name: 'backup: one that has ended is claimed',
    file: 'shared/backups/store.ts',
    find: 'where id = :id and finished_at is null returning *',
    replace: 'where id = :id returning *',
  },
  {
    name: 'backup: recorded by an old claim',
    file: 'shared/backups/store.ts',
    find: 'sealed_key = :sealedKey, updated_at = now()\n      where id = :id and fence = :fence',
    replace: 'sealed_key = :sealedKey, updated_at = now()\n      where id = :id and cast(:fence as bigint) is not null',
  },
  {
    name: 'backup: a failed one keeps its key',
    file: 'shared/backups/store.ts',
    find: 'error = :error, sealed_key = null,',
    replace: 'error = :error,',
  },
  {
    name: 'backup: given back by an old claim',
    file: 'shared/backups/store.ts',
    find: 'where id = :id and fence = :fence and finished_at is null`',
    replace: 'where id = :id and cast(:fence as bigint) is not null and finished_at is null`',
  },
  {
    name: 'backup: its worker goes on after the service is deleted',
    file: 'shared/backups/store.ts',
    find: 'fence = fence + 1, sealed_key = null',
    replace: 'sealed_key = null',
  },
  {
    name: 'backup: one that is made is deleted',
    file: 'shared/backups/store.ts',
    find: 'where id = ? and finished_at is not null returning id',
    replace: 'where id = ? returning id',
  },
  {
    name: 'backup: deleted ones count for the bound',
    file: 'shared/backups/store.ts',
    find: "and status = 'succeeded' and deleted_at is null",
    replace: "and status = 'succeeded'",
  },
  {
    name: 'backup: scheduled ones count for the bound',
    file: 'shared/backups/store.ts',
    find: "and trigger = 'manual' and status",
    replace: 'and status',
  },
  {
    name: 'backup: the row goes before it is hidden',
    file: 'shared/backups/store.ts',
    find: 'delete from backups where id = ? and deleted_at is not null',
    replace: 'delete from backups where id = ?',
  },
  {
    name: 'backup: archives of another host are removed',
    file: 'shared/backups/store.ts',
    find: 'and (store is null or store = any(:stores))',
    replace: 'and (true or store = any(:stores))',
  },
  {
    name: 'backup: a service with backups disabled is backed up',
    file: 'shared/backups/store.ts',
    find: " and (s.configuration ->> 'backupEnabled')::boolean",
    replace: '',
  },
  {
    name: 'backup: those of a service that is being restored expire',
    file: 'shared/backups/store.ts',
    find: "\n        and not exists (select from operations o where o.service_id = s.id and o.finished_at is null and o.kind = 'restore')\n      group by",
    replace: '\n      group by',
  },
  {
    name: 'backup: a restore begins beside a deployment',
    file: 'shared/backups/commands.ts',
    find: 'if (await hasOpenDeployment(trx, id))',
    replace: 'if (false)',
  },
  {
    name: 'backup: a restore begins beside a backup',
    file: 'shared/backups/commands.ts',
    find: 'if (await hasOpenBackup(trx, id))',
    replace: 'if (false)',
  },
  {
    name: 'backup: one that failed is restored',
    file: 'shared/backups/commands.ts',
    find: "if (backup.status !== 'succeeded')",
    replace: 'if (false)',
  },
  {
    name: 'backup: one that is being restored is deleted',
    file: 'shared/backups/commands.ts',
    find: 'if (restore?.backup_id === backupId)',
    replace: 'if (false)',
  },
  {
    name: 'backup: one too many on demand',
    file: 'shared/backups/commands.ts',
    find: '>= MOST_MANUAL_BACKUPS',
    replace: '> MOST_MANUAL_BACKUPS',
  },
  {
    name: 'backup: the last good one expires',
    file: 'shared/backups/model.ts',
    find: ' && id !== newest?.id',
    replace: '',
  },
  {
    name: 'backup: kept longer than the plan allows',
    file: 'shared/backups/model.ts',
    find: 'Math.min(backupRetentionDays, most)',
    replace: 'Math.max(backupRetentionDays, most)',
  },
  {
    name: 'backup: a slot before the service ran',
    file: 'shared/backups/model.ts',
    find: 'slot <= liveSince.getTime() || ',
    replace: '',
  },
  {
    name: 'backup: the archive of somebody else is removed',
    file: 'shared/backups/model.ts',
    find: 'return OBJECT.test(name);',
    replace: 'return true;',
  },
];
