import { useState } from 'react';
import { post } from '../../api/client.js';
import { useGet, useWrite } from '../../api/hooks.js';
import { useRefusal } from '../../api/session.js';
import type { Schemas } from '../../api/types.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Empty, ErrorNotice, Loaded, Skeleton } from '../../ui/states.js';
import { RUN_STATUS, Status } from '../../ui/status.js';
import { Ago, Duration } from '../../ui/time.js';
import { toast } from '../../ui/toast.js';
import u from '../../ui/ui.module.css';
import d from '../deployments/deployments.module.css';
import { useService, useServicePath } from '../services/service-shell.js';

type Backup = Schemas['Backup'];

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/backups';

function isOpen({ status }: Backup): boolean {
  return status === 'queued' || status === 'running';
}

/** Was the last backup good? And back to one of them. */
export function BackupsPage() {
  const path = useServicePath();
  const service = useService();
  const role = useRefusal(path.workspaceId, 'developer');
  const refusal = role ?? (service.liveDeploymentId === null ? 'It has no data yet: deploy it first' : null);
  const [chosen, setChosen] = useState<Backup | null>(null);
  const query = useGet(PATH, { path }, { working: ({ backups }) => backups.some(isOpen) });
  const start = useWrite(() => post(PATH, { path }), { onDone: () => toast('A backup is queued') });
  const restore = useWrite(
    (backupId: string) =>
      post(`${PATH}/{backupId}/restore`, { path: { ...path, backupId }, body: { confirm: service.name } }),
    {
      onDone: () => {
        setChosen(null);
        toast('The restoration is queued');
      },
    },
  );
  const { backupEnabled, backupRetentionDays } = service.configuration;
  return (
    <>
      {start.error ? <ErrorNotice title="It was not queued" error={start.error} /> : null}
      <section className={u.card}>
        <div className={u.cardHead}>
          <h2>{backupEnabled ? `Daily, kept for ${backupRetentionDays} days` : 'No daily backups'}</h2>
          <Button look="primary" pending={start.isPending} refusal={refusal} onClick={() => start.mutate()}>
            Back up now
          </Button>
        </div>
        <Loaded query={query} skeleton={<Skeleton rows={3} height={52} />}>
          {({ backups }) =>
            backups.length === 0 ? (
              <Empty title="There is no backup yet">A daily one is made by itself where the settings say so.</Empty>
            ) : (
              <ul>
                {backups.map((backup) => (
                  <li key={backup.id} className={d.row}>
                    <Status tone={RUN_STATUS[backup.status].tone}>{RUN_STATUS[backup.status].text}</Status>
                    <div className={d.what}>
                      <span>
                        {backup.trigger === 'manual' ? 'By hand' : 'By itself'}
                        {backup.sizeBytes === null ? '' : `, ${sizeText(backup.sizeBytes)}`}
                      </span>
                      <span className={u.dim}>
                        {backup.error || (
                          <>
                            expires <Ago at={backup.expiresAt} />
                          </>
                        )}
                      </span>
                    </div>
                    <div className={`${d.when} ${u.dim}`}>
                      <Ago at={backup.createdAt} />
                      {backup.startedAt === null ? null : <Duration from={backup.startedAt} to={backup.finishedAt} />}
                      {backup.status === 'succeeded' ? (
                        <Button small refusal={refusal} onClick={() => setChosen(backup)}>
                          Restore
                        </Button>
                      ) : null}
                    </div>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <ConfirmDialog
        title={`Restore ${service.name}?`}
        name={service.name}
        action="Replace its data"
        open={chosen !== null}
        onClose={() => setChosen(null)}
        onConfirm={() => chosen && restore.mutate(chosen.id)}
        pending={restore.isPending}
        error={restore.error}
      >
        What the service holds now is replaced by what it held at the time of the backup. It is away meanwhile.
      </ConfirmDialog>
    </>
  );
}

function sizeText(bytes: number): string {
  if (bytes < 1e6) return `${Math.max(1, Math.round(bytes / 1e3))} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
