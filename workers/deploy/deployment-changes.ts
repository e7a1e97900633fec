import { type ActiveState, type DeploymentEvent, STEP_OF, TRANSITIONS } from '../../shared/deployments/model.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { stepsWith } from '../../shared/deployments/step-records.js';
import { MOVE_ROUTES } from '../../shared/deployments/store.js';
import type { Transitions } from '../../shared/engine/kind.js';
import type { Beside, Change } from '../../shared/engine/transition.js';
import { imageStoredBy, imageValues } from '../../shared/images/store.js';
import { EDGES } from '../../shared/routing/store.js';
import { beginCanary } from '../canaries/begin-canary.js';
import { type LeftBehind, leftBehindSql } from '../releases/release-store.js';

export type HeldDeployment = DeploymentRow & {
  /** The number of live edges when the route was moved. At 0, the deployment need not wait for edges. */
  edges?: number;
  /** The replicas and images that earlier releases left behind. Set once the deployment is live. */
  left_behind?: LeftBehind;
};

/** Returns the changes to write, in one SQL statement, when `event` occurs in the state `from`. */
export function changeOf(from: ActiveState, event: DeploymentEvent): Change {
  switch (event.type) {
    case 'resolved':
      return {
        set: { commit_sha: event.commitSha, commit_message: event.commitMessage },
        sql: stepChange(from, event.type),
      };
    case 'built':
      return event.image === null
        ? { sql: stepChange(from, event.type) }
        : {
            sql: `${stepChange(from, event.type)}, image_id = cast(:imageId as uuid)`,
            beside: { after: `stored as (${imageStoredBy('moved')})`, values: imageValues(event.image) },
          };
    case 'imageFound':
    case 'imageMissing':
      return { sql: stepChange(from, event.type) };
    case 'prepared':
      return { sql: 'prepared_at = now()' };
    case 'canaryBegun':
      return { sql: stepChange(from, event.type), beside: beginCanary(event) };
    case 'routeSwitched':
      return { sql: 'went_live_at = now()', beside: SWITCH };
    case 'edgesConfirmed':
      return { beside: { columns: `(${leftBehindSql('moved.service_id')}) as left_behind` } };
  }
}

function stepChange(from: ActiveState, event: DeploymentEvent['type']): string {
  const row: Transitions = TRANSITIONS[from];
  const to = row[event];
  if (to === undefined) throw new Error(`a deployment that is ${from} cannot be ${event}`);
  return `steps = ${stepsWith(STEP_OF[to as ActiveState])}`;
}

/** Locks the service before the deployment, as the API's commands do, so that they cannot deadlock. */
const SWITCH: Beside = {
  before: `locked as materialized (
    select id from services
     where id = (select service_id from deployments where id = :id) and lifecycle_status not in ('deleting', 'deleted')
       for update)`,
  only: 'service_id = (select id from locked)',
  after: MOVE_ROUTES,
  columns: `(${EDGES}) as edges`,
};
