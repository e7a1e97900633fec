import { isDataKind, type LifecycleStatus, type ServiceKind } from '../../../../shared/services/model.js';
import { type Step, VOLUME_APART } from '../../../../shared/stacks/model.js';

export interface ServiceReleases {
  id: string;
  name: string;
  kind: ServiceKind;
  archived: boolean;
  lifecycle: LifecycleStatus;
  hasVolumes: boolean;
  isLive: boolean;
  /** The deployment that was live after the apply to which the stack is rolled back; null if none was. */
  thenId: string | null;
  /** True if the current live release has the same image and variables as the deployment `thenId`. */
  isSame: boolean;
  /** True if the image of the deployment `thenId` is still kept. */
  imageKept: boolean;
}

export interface RollbackPlan {
  steps: Extract<Step, { op: 'service.rollback' }>[];
  warnings: string[];
  /** Why the stack cannot be rolled back; empty if it can. */
  problems: string[];
}

/** Plans the rollback of a stack's services to the releases of an earlier apply. */
export function planRollback(services: readonly ServiceReleases[]): RollbackPlan {
  const plan: RollbackPlan = { steps: [], warnings: [], problems: [] };
  for (const service of services) {
    const { id, name, kind, thenId, isLive, isSame } = service;
    if (thenId === null) {
      if (isLive) plan.warnings.push(`${name} was not live then; its release stays`);
      continue;
    }
    if (isSame) continue;
    if (isDataKind(kind)) {
      plan.warnings.push(`${name} is a database, whose release stays`);
      continue;
    }
    const problem = problemOf(service);
    if (problem !== null) plan.problems.push(`${name} ${problem}`);
    else plan.steps.push({ op: 'service.rollback', serviceId: id, name, deploymentId: thenId });
  }
  return plan;
}

function problemOf({ archived, lifecycle, hasVolumes, imageKept }: ServiceReleases): string | null {
  if (lifecycle === 'deleting' || lifecycle === 'deleted') return 'was deleted since';
  if (archived) return 'is archived: restore it first';
  if (lifecycle === 'suspended') return 'is suspended: resume it first';
  if (hasVolumes) return VOLUME_APART;
  return imageKept ? null : 'has no image of that release any more';
}
