import { DEFAULT_CONFIGURATION, type ServiceConfiguration } from '../services/configuration.js';
import { isImageSource, isPushSource } from '../services/service-source.js';
import { parseSshAddress } from '../ssh/model.js';
import { labelOf } from './label.js';
import type { Matches } from './match-resources.js';
import { inOrder } from './plan.js';
import type { Plan } from './plan-model.js';
import { wantedConfiguration } from './plan-services.js';
import type { ServiceWish } from './wish.js';

export interface PushedCommit {
  /** The repository, in the form of `repositoryKey`. */
  repository: string;
  branch: string;
  sha: string;
  /** Services whose path filters exclude all changed files. */
  excluded: ReadonlySet<string>;
}

interface PushedService {
  name: string;
  id: string;
  configuration: ServiceConfiguration;
}

/** Returns the host and path of a repository address, which all addresses of the repository share. */
export function repositoryKey(address: string): string {
  const ssh = parseSshAddress(address);
  const given = ssh?.url ?? address;
  const url = URL.canParse(given) ? new URL(given) : null;
  const place = url === null ? given : (ssh === null ? url.host : url.hostname) + url.pathname;
  return place.replace(/\/+$/, '').replace(/\.git$/, '');
}

/** Returns the name for a stack that is first applied by a push: the repository's name. */
export function stackNameOf(address: string): string {
  const key = repositoryKey(address);
  return labelOf(key.slice(key.lastIndexOf('/') + 1)) || 'stack';
}

/** Returns the services that are deployed only because a commit was pushed to their branch. */
export function pushedServices(plan: Plan, matches: Pick<Matches, 'services'>, commit: PushedCommit): PushedService[] {
  return matches.services.flatMap(({ wish, state }) => {
    const configuration = wanted(wish);
    const { name } = wish;
    if (configuration.autoDeploy !== 'commit' || !isFrom(configuration, commit)) return [];
    if (state === null || plan.deploys.includes(name) || commit.excluded.has(name)) return [];
    if (wish.archived || state.lifecycle === 'suspended') return [];
    return [{ name, id: state.id, configuration }];
  });
}

/**
 * Adds to a plan the deployments that a pushed commit causes. The plan's other deployments from the pushed branch also
 * use this commit.
 */
export function withCommit(plan: Plan, matches: Pick<Matches, 'services'>, commit: PushedCommit): Plan {
  const { branch, sha } = commit;
  const added = pushedServices(plan, matches, commit).map(({ name }) => name);
  const own = matches.services.filter(({ wish }) => isFrom(wanted(wish), commit)).map(({ wish }) => wish.name);
  const steps = plan.steps.map((step) => {
    const isOwn = step.op === 'service.deploy' && own.includes(step.service);
    return isOwn ? { ...step, commit: { branch, sha, once: false } } : step;
  });
  for (const service of added) steps.push({ op: 'service.deploy', service, commit: { branch, sha, once: true } });
  const deploys = matches.services
    .map(({ wish }) => wish.name)
    .filter((name) => added.includes(name) || plan.deploys.includes(name));
  return { ...plan, deploys, steps: inOrder(steps) };
}

function wanted(wish: ServiceWish): ServiceConfiguration {
  return wantedConfiguration(wish, { defaultRegion: DEFAULT_CONFIGURATION.region });
}

function isFrom(configuration: ServiceConfiguration, { repository, branch }: PushedCommit): boolean {
  if (isImageSource(configuration) || isPushSource(configuration) || configuration.branch !== branch) return false;
  return configuration.repository !== '' && repositoryKey(configuration.repository) === repository;
}
