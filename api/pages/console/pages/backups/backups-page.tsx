import { useState } from 'react';
import { post, remove } from '../../api/api-client.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { useGet, useWrite } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items } from '../../ui/card.js';
import { ConfirmDialog, useConfirmation } from '../../ui/dialog.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { isDatabase } from '../../ui/source-text.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS } from '../../ui/status.js';
import { Ago } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import { useService, useServicePath } from '../services/service-shell.js';

type Backup = Schemas['Backup'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/backups';

function isOpen({ status }: Backup): boolean {
  return status === 'queued' || status === 'running';
}

export function BackupsPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const hasVolumes = !isDatabase(service.kind);
  const what = hasVolumes ? 'service' : 'database';
  const refusal = role ?? (service.liveDeploymentId === null ? `The ${what} has no data yet: deploy it first` : null);
  const [limit, setLimit] = useState(FIRST_ROWS);
  const query = useGet(
    PATH,
    { path, query: { limit } },
    { working: ({ backups }) => backups.some(isOpen), keep: true },
  );
  const start = useWrite(
    (pause: boolean) => post(PATH, { path, body: pause ? { pause } : {} }),
    () => toast('A backup is queued'),
  );
  const restoration = useConfirmation(
    ({ id }: Backup) =>
      post(`${PATH}/{backupId}/restore`, { path: { ...path, backupId: id }, body: { confirm: service.name } }),
    () => toast('The restore is queued'),
  );
  const deletion = useConfirmation(
    ({ id }: Backup) => remove(`${PATH}/{backupId}`, { path: { ...path, backupId: id } }),
    () => toast('The backup was deleted'),
  );
  const { backupEnabled, backupRetentionDays } = service.configuration;
  return (
    <>
      {start.error ? <ErrorNotice title="The backup was not queued" error={start.error} /> : null}
      <Card
        title={backupEnabled ? `Daily backups, kept for ${backupRetentionDays} days` : 'Daily backups are off'}
        actions={
          <div className={u.actions}>
            {hasVolumes ? (
              <Button pending={start.isPending} refusal={refusal} onClick={() => start.mutate(true)}>
                Pause and back up
              </Button>
            ) : null}
            <Button look="primary" pending={start.isPending} refusal={refusal} onClick={() => start.mutate(false)}>
              Back up now
            </Button>
          </div>
        }
      >
        <Loaded query={query} skeleton={<Skeleton rows={3} height={52} />}>
          {({ backups }) => (
            <Items
              items={backups}
              empty={
                <Empty title="No backups yet">
                  A backup is a verified copy of the data that you can restore. Turn on daily backups in the settings,
                  or back up now.
                </Empty>
              }
            >
              {(backup) => (
                <HistoryRow
                  status={RUN_STATUS[backup.status]}
                  title={`${backup.trigger === 'manual' ? 'Manual' : 'Scheduled'}${sizeText(backup.sizeBytes)}`}
                  detail={
                    backup.error || (
                      <>
                        expires <Ago at={backup.expiresAt} />
                      </>
                    )
                  }
                  at={backup.createdAt}
                  startedAt={backup.startedAt}
                  finishedAt={backup.finishedAt}
                >
                  {backup.status === 'succeeded' ? (
                    <Button small refusal={refusal} onClick={() => restoration.ask(backup)}>
                      Restore
                    </Button>
                  ) : null}
                  {isOpen(backup) ? null : (
                    <Button small look="quiet" refusal={role} onClick={() => deletion.ask(backup)}>
                      Delete
                    </Button>
                  )}
                </HistoryRow>
              )}
            </Items>
          )}
        </Loaded>
      </Card>
      <div className={u.actions}>
        <ShowOlder hasMore={query.data?.page.hasMore === true} limit={limit} onLimit={setLimit} />
      </div>
      <ConfirmDialog {...deletion.dialog} title="Delete this backup?" action="Delete permanently">
        The {what} is not changed. This backup can no longer be restored.
      </ConfirmDialog>
      <ConfirmDialog {...restoration.dialog} title={`Restore ${service.name}?`} name={service.name} action="Restore">
        {hasVolumes
          ? 'The content of the volumes is replaced by that of the backup. Requests wait while the service restarts.'
          : 'All data is replaced by the data of the backup. The database is unavailable during the restore.'}
      </ConfirmDialog>
    </>
  );
}

function sizeText(bytes: number | null): string {
  if (bytes === null) return '';
  if (bytes < 1e6) return `, ${Math.max(1, Math.round(bytes / 1e3))} kB`;
  return bytes < 1e9 ? `, ${(bytes / 1e6).toFixed(1)} MB` : `, ${(bytes / 1e9).toFixed(1)} GB`;
}
