import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { maskedRepository } from '../../../../shared/services/service-source.js';
import type { EnvironmentState, ServiceState, VariableState } from '../../../../shared/stacks/environment-state.js';
import type { Step } from '../../../../shared/stacks/model.js';

export const STACK_ID = '0198c0de-0000-7000-8000-000000000001';

export const EMPTY: EnvironmentState = {
  defaultRegion: 'auto',
  services: [],
  groups: [],
  domains: {},
};

let count = 0;
const newId = () => `0198c0de-0000-7000-8000-${String(++count).padStart(12, '0')}`;

/** Applies the steps to a model of an environment. */
export function carryOut(before: EnvironmentState, steps: readonly Step[]): EnvironmentState {
  const state = structuredClone(before);
  const owner = (as: string) => ({ stackId: STACK_ID, stack: 'shop', as });
  const group = (name: string) => find(state.groups, ({ owner, name: own }) => (owner?.as ?? own) === name);
  const service = (name: string) => find(state.services, ({ owner, name: own }) => (owner?.as ?? own) === name);
  for (const step of steps) {
    switch (step.op) {
      case 'group.create':
        state.groups.push({
          id: newId(),
          name: step.group,
          ofEnvironment: true,
          variables: [],
          owner: owner(step.group),
        });
        break;
      case 'service.create':
        state.services.push(newService(step, state.defaultRegion));
        break;
      case 'service.update': {
        const target = service(step.service);
        target.name = step.name ?? target.name;
        setConfiguration(target, step.configuration);
        break;
      }
      case 'service.archive':
        service(step.service).archived = step.archived;
        break;
      case 'volume.delete': {
        const target = service(step.service);
        target.volumes = target.volumes.filter(({ name }) => name !== step.volume);
        break;
      }
      case 'volume.create': {
        const { volume: name, mountPath, sizeGb } = step;
        service(step.service).volumes.push({ name, mountPath, sizeGb });
        break;
      }
      case 'volume.grow':
        find(service(step.service).volumes, ({ name }) => name === step.volume).sizeGb = step.sizeGb;
        break;
      case 'variables.set': {
        const target = 'service' in step.owner ? service(step.owner.service) : group(step.owner.group);
        const named = new Set([...step.unset, ...step.set.map(({ key }) => key)]);
        const made = step.set.map(({ key, scope, content }): VariableState => {
          if ('value' in content) return { key, scope, value: content.value, reference: null };
          if ('generate' in content) return { key, scope, value: 'g'.repeat(content.generate), reference: null };
          const { reference } = content;
          const serviceId = 'service' in reference ? service(reference.service).id : reference.serviceId;
          return { key, scope, value: null, reference: { serviceId, key: reference.key } };
        });
        target.variables = [...target.variables.filter(({ key }) => !named.has(key)), ...made];
        break;
      }
      case 'groups.link':
        service(step.service).groupIds = step.groups.map((each) =>
          'group' in each ? group(each.group).id : each.groupId,
        );
        break;
      case 'domain.create':
        service(step.service).domains.push({ name: step.hostname, redirectTo: null });
        break;
      case 'domain.redirect':
        redirect(state, service(step.service), step);
        break;
      case 'rules.set':
        service(step.service).rules = step.rules;
        break;
      case 'domain.delete': {
        const target = service(step.service);
        target.domains = target.domains.filter(({ name }) => name !== step.hostname);
        break;
      }
      case 'service.deploy':
        service(step.service).live = true;
        break;
      case 'service.delete':
        state.services = state.services.filter(({ id }) => id !== step.serviceId);
        break;
      case 'group.delete':
        state.groups = state.groups.filter(({ id }) => id !== step.groupId);
        break;
      case 'stack.delete':
        break;
    }
  }
  state.domains = Object.fromEntries(
    state.services.flatMap(({ id: serviceId, name: service, domains }) =>
      domains.map(({ name, redirectTo }) => [name, { serviceId, service, redirectTo }]),
    ),
  );
  return state;

  function newService(
    { service: name, kind, configuration }: Extract<Step, { op: 'service.create' }>,
    region: EnvironmentState['defaultRegion'],
  ): ServiceState {
    const made: ServiceState = {
      id: newId(),
      name,
      kind,
      archived: false,
      lifecycle: 'active',
      live: false,
      configuration: { ...DEFAULT_CONFIGURATION, region },
      repository: '',
      unreleased: false,
      hasData: false,
      variables: [],
      volumes: [],
      domains: [],
      rules: [],
      groupIds: [],
      owner: owner(name),
    };
    setConfiguration(made, configuration);
    return made;
  }
}

/** Redirects a domain. Throws if this makes a chain, which the API refuses. */
function redirect(
  { services }: EnvironmentState,
  service: ServiceState,
  { hostname, redirectTo }: Extract<Step, { op: 'domain.redirect' }>,
): void {
  const domain = find(service.domains, ({ name }) => name === hostname);
  const others = services.flatMap(({ domains }) => domains).filter(({ redirectTo: to }) => to !== null);
  if (redirectTo !== null && others.some(({ name, redirectTo: to }) => name === redirectTo || to === hostname))
    throw new Error(`a redirect of ${hostname} to ${redirectTo} makes a chain`);
  domain.redirectTo = redirectTo;
}

function setConfiguration(service: ServiceState, configuration: Partial<ServiceState['configuration']>): void {
  const { repository } = configuration;
  service.configuration = { ...service.configuration, ...configuration };
  if (repository === undefined) return;
  service.repository = repository;
  service.configuration.repository = maskedRepository(repository);
}

function find<T>(all: readonly T[], is: (one: T) => boolean): T {
  const found = all.find(is);
  if (found === undefined) throw new Error('a step names what no step before has made');
  return found;
}
