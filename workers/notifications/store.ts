import { type Db, rowsOf } from '../../shared/core/database/database-client.js';
import type { ServiceConfiguration } from '../../shared/services/configuration.js';
import type { WorkspaceConfiguration } from '../../shared/workspaces/model.js';
import type { End } from './model.js';

export interface DeploymentEnd extends End {
  deployment_id: string;
  tries: number;
  error: string;
  commit_sha: string;
  actor: string;
  finished_at: Date;
  service_name: string;
  service_slug: string;
  service_configuration: ServiceConfiguration;
  workspace_name: string;
  workspace_configuration: Partial<WorkspaceConfiguration>;
}

/** SQL: the pause after a failed try, which grows from a minute to an hour. */
const PAUSE = `least(interval '1 hour', interval '1 minute' * power(2, least(n.tries, 10)))`;

/**
 * Claims ended deployments whose mail is due. Each mail is due again after a pause, in case it cannot be sent or the
 * process crashes.
 */
export function claimNotifications(db: Db, limit: number): Promise<DeploymentEnd[]> {
  return rowsOf<DeploymentEnd>(
    db,
    `with due as (
       select deployment_id from notifications where due_at <= now() order by due_at limit :limit for update skip locked
     ), taken as (
       update notifications n set tries = n.tries + 1, due_at = now() + ${PAUSE}
         from due where n.deployment_id = due.deployment_id returning n.deployment_id, n.tries, n.created_at
     )
     select t.deployment_id, t.tries, d.status, d.error, d.branch, d.commit_sha, d.actor, d.finished_at,
            s.name as service_name, s.slug as service_slug, s.configuration as service_configuration,
            exists (select from previews p where p.service_id = s.id) as is_preview,
            w.name as workspace_name, w.configuration as workspace_configuration
       from taken t
       join deployments d on d.id = t.deployment_id
       join services s on s.id = d.service_id
       join workspaces w on w.id = d.workspace_id
      order by t.created_at`,
    { limit },
  );
}

export async function deleteNotification(db: Db, deploymentId: string): Promise<void> {
  await db.raw('delete from notifications where deployment_id = ?', [deploymentId]);
}
