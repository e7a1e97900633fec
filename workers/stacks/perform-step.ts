import { randomInt } from 'node:crypto';
import { assertRestorable } from '../../shared/backups/restore-commands.js';
import { noveltyOf } from '../../shared/commits/model.js';
import { knownCommits, recordHead } from '../../shared/commits/store.js';
import type { Transaction } from '../../shared/core/database/database-client.js';
import { COMPLETE } from '../../shared/core/database/page.js';
import { AppError, conflict } from '../../shared/core/error-registry.js';
import { queueDeployment, queueRollback } from '../../shared/deployments/commands.js';
import { getDeployment } from '../../shared/deployments/store.js';
import { addDomain, platformNames, redirectDomain, removeDomain } from '../../shared/domains/commands.js';
import type { DomainRow } from '../../shared/domains/model.js';
import { listDomains, lockDomain } from '../../shared/domains/store.js';
import { createGroup, linkService, unlinkService } from '../../shared/groups/commands.js';
import { deleteGroupRow, findGroupView, lockGroup } from '../../shared/groups/store.js';
import { deleteService, setArchived } from '../../shared/lifecycle/commands.js';
import { createService } from '../../shared/lifecycle/create-service.js';
import { updateService } from '../../shared/lifecycle/update-service.js';
import { queueOperation } from '../../shared/operations/commands.js';
import { setRules } from '../../shared/rules/commands.js';
import { isDataKind } from '../../shared/services/model.js';
import { findServiceView, getService, lockServiceView, type ServiceView } from '../../shared/services/store.js';
import {
  type ApplyRow,
  type StackRow,
  type Step,
  type StepCommit,
  type StepContent,
  VOLUME_APART,
} from '../../shared/stacks/model.js';
import {
  claimResource,
  findResource,
  forgetStack,
  releaseResource,
  type StepResult,
} from '../../shared/stacks/store.js';
import type { VariableContent } from '../../shared/variables/model.js';
import { setVariables } from '../../shared/variables/set-variables.js';
import { addVolume, deleteVolume, growVolume } from '../../shared/volumes/commands.js';
import { listVolumes, type VolumeView } from '../../shared/volumes/store.js';
import type { JobDeps } from '../worker-deps.js';

export interface ApplyContext {
  deps: Pick<JobDeps, 'keyring' | 'config'>;
  apply: Pick<ApplyRow, 'id' | 'workspace_id' | 'actor' | 'reads_protected' | 'together'>;
  stack: StackRow & { project_id: string };
}

/** Performs one step with the API's commands. Throws their errors, and not_found if a resource is gone. */
export async function performStep(trx: Transaction, context: ApplyContext, step: Step): Promise<StepResult> {
  const { deps, apply, stack } = context;
  const { workspace_id: workspaceId, actor } = apply;
  const authorize = authorizeOf(apply);
  const lock = (name: string) => lockOwn(trx, context, name);
  const onService = async (name: string, work: (service: ServiceView) => Promise<unknown>): Promise<StepResult> => {
    const service = await lock(name);
    await work(service);
    return { resourceId: service.id };
  };
  switch (step.op) {
    case 'group.create': {
      const environmentId = stack.environment_id;
      const groupId = await createGroup(trx, { workspaceId, name: step.group, environmentId, authorize });
      await claimResource(trx, stack.id, { groupId }, step.group);
      return { resourceId: groupId };
    }
    case 'service.create': {
      const { service: name, kind, configuration } = step;
      const placement = { projectId: stack.project_id, environmentId: stack.environment_id };
      const input = { workspaceId, actor, name, kind, configuration, placement, variables: [], deploy: false };
      const { id } = await createService(trx, deps, { ...input, idempotency: null, authorize });
      await claimResource(trx, stack.id, { serviceId: id }, name);
      return { resourceId: id };
    }
    case 'service.update': {
      const change = { actor, name: step.name, configuration: step.configuration, authorize };
      const needEngine = () => undefined;
      return onService(step.service, (service) => updateService(trx, deps, { service, ...change, needEngine }));
    }
    case 'service.archive':
      return onService(step.service, ({ id }) => setArchived(trx, id, step.archived));
    case 'volume.create': {
      const { volume: name, mountPath, sizeGb } = step;
      return onService(step.service, (service) => addVolume(trx, service, { name, mountPath, sizeGb }));
    }
    case 'volume.grow':
      return onService(step.service, async (service) => {
        const volume = await volumeOf(trx, service, step.volume);
        if (volume === undefined) throw gone(`volume ${step.volume}`);
        await growVolume(trx, service, volume.id, step.sizeGb);
      });
    case 'volume.delete':
      return onService(step.service, async (service) => {
        const volume = await volumeOf(trx, service, step.volume);
        if (volume !== undefined) await deleteVolume(trx, volume);
      });
    case 'variables.set':
      return setOwn(trx, context, step);
    case 'groups.link':
      return link(trx, context, step);
    case 'domain.create': {
      const { hostname } = step;
      return onService(step.service, (service) =>
        addDomain(trx, { service, hostname, own: platformNames(deps.config) }),
      );
    }
    case 'domain.redirect':
      return onService(step.service, async (service) => {
        const domain = await lockDomainOf(trx, service, step.hostname);
        if (domain === undefined) throw gone(`domain ${step.hostname}`);
        await redirectDomain(trx, domain, { to: step.redirectTo, own: platformNames(deps.config) });
      });
    case 'domain.delete':
      return onService(step.service, async (service) => {
        const domain = await lockDomainOf(trx, service, step.hostname);
        if (domain !== undefined) await removeDomain(trx, service.id, domain.id);
      });
    case 'rules.set':
      return onService(step.service, (service) => setRules(trx, service, step.rules, { mayLack: true }));
    case 'service.deploy': {
      const service = await lock(step.service);
      const togetherId = await togetherIdOf(trx, apply, service);
      const { commit } = step;
      if (commit?.once && !(await isNews(trx, service.id, commit))) return { resourceId: service.id };
      if (commit) await recordHead(trx, service.id, commit.branch, commit.sha);
      const { id } = await queueDeployment(trx, deps, {
        ...{ service, actor, togetherId, authorize, trigger: commit ? 'commit' : 'api' },
        ...(commit && { branch: commit.branch, commitSha: commit.sha }),
      });
      return { resourceId: service.id, deploymentId: id };
    }
    case 'service.restore': {
      const service = await lock(step.service);
      const missing = () => gone(`backup of ${step.service}`);
      const from = await getService(trx, step.from);
      if (from === undefined) throw missing();
      await assertRestorable(trx, { service, from, backupId: step.backupId, missing });
      const { id } = await queueOperation(trx, { service, actor }, 'restore', { backupId: step.backupId });
      return { resourceId: service.id, operationId: id };
    }
    case 'service.rollback': {
      const service = await lockServiceView(trx, workspaceId, step.serviceId);
      const source = await getDeployment(trx, step.deploymentId);
      if (service === undefined || source === undefined) throw gone(`service ${step.name}`);
      authorize({ protectedEnvironment: service.environment_protected });
      const togetherId = await togetherIdOf(trx, apply, service);
      const { id } = await queueRollback(trx, deps, { service, source, actor, togetherId, authorize });
      return { resourceId: service.id, deploymentId: id };
    }
    case 'service.delete': {
      const service = await lockServiceView(trx, workspaceId, step.serviceId);
      await releaseResource(trx, { serviceId: step.serviceId });
      if (service === undefined || service.lifecycle_status === 'deleting') return { resourceId: step.serviceId };
      authorize({ protectedEnvironment: service.environment_protected });
      await deleteService(trx, { service, actor });
      return { resourceId: step.serviceId };
    }
    case 'group.delete': {
      await lockGroup(trx, workspaceId, step.groupId);
      await deleteGroupRow(trx, step.groupId);
      return { resourceId: step.groupId };
    }
    case 'stack.delete':
      await forgetStack(trx, stack.id);
      return {};
  }
}

async function isNews(trx: Transaction, serviceId: string, { branch, sha }: StepCommit): Promise<boolean> {
  return noveltyOf(sha, await knownCommits(trx, serviceId, branch)) !== 'known';
}

/** Returns a check that refuses protected environments if the apply's requester could not read them. */
function authorizeOf({ reads_protected }: ApplyContext['apply']) {
  return ({ protectedEnvironment }: { protectedEnvironment: boolean }): void => {
    if (protectedEnvironment && !reads_protected) throw new AppError('forbidden');
  };
}

async function lockOwn(trx: Transaction, { apply, stack }: ApplyContext, name: string): Promise<ServiceView> {
  const id = await findResource(trx, stack.id, 'service', name);
  const service = id === undefined ? undefined : await lockServiceView(trx, apply.workspace_id, id);
  if (service === undefined) throw gone(`service ${name}`);
  authorizeOf(apply)({ protectedEnvironment: service.environment_protected });
  return service;
}

/**
 * Returns the apply's id if its services go live together; null if this service goes live alone. Throws conflict if a
 * service with a volume is to go live together with others: its old and new release would use the volume at the same
 * time.
 */
async function togetherIdOf(
  trx: Transaction,
  { id, together }: ApplyContext['apply'],
  service: ServiceView,
): Promise<string | null> {
  if (!together || isDataKind(service.kind)) return null;
  if ((await listVolumes(trx, service.id)).length > 0) throw conflict(`${service.name} ${VOLUME_APART}`);
  return id;
}

async function volumeOf(trx: Transaction, { id }: ServiceView, name: string): Promise<VolumeView | undefined> {
  return (await listVolumes(trx, id)).find((volume) => volume.name === name);
}

async function lockDomainOf(trx: Transaction, { id }: ServiceView, name: string): Promise<DomainRow | undefined> {
  const { items } = await listDomains(trx, id, COMPLETE);
  const domain = items.find(({ hostname }) => hostname === name);
  return domain && lockDomain(trx, id, domain.id);
}

async function setOwn(
  trx: Transaction,
  context: ApplyContext,
  { owner, set, unset }: Extract<Step, { op: 'variables.set' }>,
): Promise<StepResult> {
  const { deps, apply, stack } = context;
  const workspaceId = apply.workspace_id;
  let id: string;
  if ('service' in owner) {
    ({ id } = await lockOwn(trx, context, owner.service));
  } else {
    const groupId = await findResource(trx, stack.id, 'group', owner.group);
    if (groupId === undefined) throw gone(`group ${owner.group}`);
    await lockGroup(trx, workspaceId, groupId);
    id = groupId;
  }
  const written = [];
  for (const { key, scope, content } of set) {
    written.push({ key, scope, content: await contentOf(trx, stack, content) });
  }
  const change = { set: written, unset, authorize: authorizeOf(apply) };
  const ownId = 'service' in owner ? { serviceId: id } : { groupId: id };
  await setVariables(trx, deps, { workspaceId, owner: ownId, ...change });
  return { resourceId: id };
}

async function contentOf(trx: Transaction, stack: StackRow, content: StepContent): Promise<VariableContent> {
  if ('value' in content) return content;
  if ('generate' in content) return { value: generated(content.generate) };
  const { reference } = content;
  if ('serviceId' in reference) return { reference };
  const serviceId = await findResource(trx, stack.id, 'service', reference.service);
  if (serviceId === undefined) throw gone(`service ${reference.service}`);
  return { reference: { serviceId, key: reference.key } };
}

const CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Letters and digits need no quoting anywhere. */
function generated(length: number): string {
  return Array.from({ length }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('');
}

/** Links exactly the environment groups that the step lists to a service, in the same order. */
async function link(
  trx: Transaction,
  context: ApplyContext,
  { service: name, groups }: Extract<Step, { op: 'groups.link' }>,
): Promise<StepResult> {
  const { apply, stack } = context;
  const wanted: string[] = [];
  for (const group of groups) {
    const id = 'groupId' in group ? group.groupId : await findResource(trx, stack.id, 'group', group.group);
    if (id === undefined) throw gone('group' in group ? `group ${group.group}` : 'group');
    wanted.push(id);
  }
  const serviceId = await findResource(trx, stack.id, 'service', name);
  if (serviceId === undefined) throw gone(`service ${name}`);
  const before = (await findServiceView(trx, apply.workspace_id, serviceId))?.environment_group_ids ?? [];
  const views = new Map<string, NonNullable<Awaited<ReturnType<typeof findGroupView>>>>();
  // Groups are locked before their services, and in a fixed order, to avoid deadlocks.
  for (const id of [...new Set([...before, ...wanted])].sort()) {
    await lockGroup(trx, apply.workspace_id, id);
    const view = await findGroupView(trx, apply.workspace_id, id);
    if (view !== undefined) views.set(id, view);
  }
  const authorize = authorizeOf(apply);
  for (const id of before) {
    const group = views.get(id);
    if (group !== undefined) await unlinkService(trx, { group, serviceId, authorize });
  }
  for (const [position, id] of wanted.entries()) {
    const group = views.get(id);
    if (group === undefined) throw gone('group');
    await linkService(trx, { group, serviceId, authorize, position });
  }
  return { resourceId: serviceId };
}

function gone(what: string): AppError {
  return new AppError('not_found', `The ${what} was deleted meanwhile; plan and apply again`);
}
