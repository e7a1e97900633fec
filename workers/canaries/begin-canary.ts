import { type Db, oneRow } from '../../shared/core/database/database-client.js';
import { CHANNELS } from '../../shared/core/database/listener.js';
import { readyCount } from '../../shared/deployments/canary-store.js';
import type { DeploymentEvent, DeploymentTrigger } from '../../shared/deployments/model.js';
import type { Beside } from '../../shared/engine/transition.js';
import { CANARY_MINUTES } from '../../shared/rules/model.js';

type Begun = Extract<DeploymentEvent, { type: 'canaryBegun' }>;

export interface CanaryFacts {
  percent: number;
  minutes: number;
  trigger: DeploymentTrigger;
  previousId: string | null;
  isActive: boolean;
  hasVolumes: boolean;
  newReady: number;
  previousReady: number;
}

/** Returns the facts for the canary of a healthy release; null if the service has no rule for one. */
export function canaryFacts(db: Db, deploymentId: string): Promise<CanaryFacts | null> {
  return oneRow<CanaryFacts>(
    db,
    `select cast(rule ->> 'percent' as integer) as percent, coalesce(cast(rule ->> 'minutes' as integer), ${CANARY_MINUTES}) as minutes, d.trigger,
            s.live_deployment_id as "previousId", s.lifecycle_status = 'active' as "isActive",
            exists (select from volumes v where v.service_id = s.id and v.removed_at is null) as "hasVolumes",
            ${readyCount('d.id')} as "newReady", ${readyCount('s.live_deployment_id')} as "previousReady"
       from deployments d join services s on s.id = d.service_id join service_rules u on u.service_id = s.id,
            jsonb_path_query_first(u.rules, '$[*] \\? (@.type == "canary")') as rule
      where d.id = :deploymentId and rule is not null`,
    { deploymentId },
  );
}

/** Returns why all visitors get the release at once; null if a canary can begin. */
export function obstacle(facts: CanaryFacts): string | null {
  if (facts.previousId === null) return 'it is the first release';
  if (facts.trigger === 'rollback') return 'a rollback has none';
  if (facts.hasVolumes) return 'one replica at a time has the volumes of the service';
  if (!facts.isActive || facts.previousReady === 0) return 'no replica of the previous release is ready';
  return facts.newReady === 0 ? 'the release has no replicas' : null;
}

/**
 * Returns SQL that begins a canary, as a part of the statement that records its deployment's event. The SQL locks the
 * service before the deployment, as the API's commands do, so that they cannot deadlock.
 */
export function beginCanary({ percent, minutes, previousId }: Begun): Beside {
  return {
    before: `locked as materialized (
      select id from services
       where id = (select service_id from deployments where id = :id) and lifecycle_status = 'active'
         and live_deployment_id = cast(:previousId as uuid) for update)`,
    only: 'service_id = (select id from locked)',
    after: `begun as (
      insert into canaries (deployment_id, service_id, previous_id, percent, ends_at)
      select id, service_id, cast(:previousId as uuid), cast(:percent as smallint), now() + make_interval(mins => cast(:minutes as integer))
        from moved
    ), told as (
      update services s set route_version = nextval('route_versions') from moved where s.id = moved.service_id
      returning pg_notify('${CHANNELS.route}', cast(s.id as text)))`,
    values: { percent, minutes, previousId },
  };
}
