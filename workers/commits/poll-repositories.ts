import { firstPoll, noveltyOf, pauseBeforePoll } from '../../shared/commits/model.js';
import {
  type DueRepository,
  endWatches,
  insertCommitEvent,
  knownCommits,
  type PolledService,
  recordHead,
  recordPoll,
  servicesOfRepository,
  takeDueRepositories,
  unsyncedServices,
  type WatchedService,
  watchService,
} from '../../shared/commits/store.js';
import { errorMessage } from '../../shared/core/errors.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { addressForWorkspace } from '../../shared/ssh/model.js';
import { SourceError } from '../sources/repository-source.js';
import type { JobDeps } from '../worker-deps.js';

type PollDeps = Pick<JobDeps, 'db' | 'keyring' | 'source' | 'dispatcher' | 'log'>;

const SYNCED = 500;
const POLLED = 64;
const AT_ONCE = 8;
const LONGEST_MS = 20_000;
const LONGEST_ERROR = 300;

/**
 * Asks repositories that are due for their branches, once for all services of one, and stores an event for each new commit of a service.
 * Returns a line for each event.
 */
export async function pollRepositories(deps: PollDeps): Promise<string[]> {
  await syncWatches(deps);
  const found: string[] = [];
  for (;;) {
    const due = await takeDueRepositories(deps.db, POLLED);
    const waiting = [...due];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        found.push(...(await poll(deps, next)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (due.length < POLLED) break;
  }
  if (found.length > 0) deps.dispatcher.wake();
  return found;
}

/** Services that deploy by commit are watched, and others are not. */
async function syncWatches({ db, keyring, log }: PollDeps): Promise<void> {
  for (const service of await unsyncedServices(db, SYNCED)) {
    const address = addressOf(keyring, service);
    if (address === null)
      log.warn({ serviceId: service.id }, "the address of a service's repository cannot be opened; it is not polled");
    const fingerprint = keyring.fingerprint(address ?? service.id, 'polled-repository');
    await db.transaction((trx) => watchService(trx, service, fingerprint, firstPoll(fingerprint)));
  }
  await endWatches(db);
}

function addressOf(keyring: PollDeps['keyring'], service: WatchedService): string | null {
  if (service.sealed_repository === null) {
    return addressForWorkspace(service.configuration.repository, service.workspace_id);
  }
  try {
    return openFrom(keyring, SEALED.repository, service.id, service.sealed_repository);
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

async function poll(deps: PollDeps, { fingerprint, failures }: DueRepository): Promise<string[]> {
  const services = await servicesOfRepository(deps.db, fingerprint);
  const hooked = services.every((service) => service.hooked);
  try {
    const found = await look(deps, services);
    await recordPoll(deps.db, fingerprint, { pauseMs: pauseBeforePoll({ hooked, failures: 0 }), error: '' });
    return found;
  } catch (error) {
    // The address may hold a secret, and `SourceError` shows none.
    const shown = error instanceof SourceError ? errorMessage(error) : 'it did not answer in time';
    if (failures === 0)
      deps.log.info({ services: services.map(({ id }) => id) }, `a repository cannot be polled: ${shown}`);
    const pauseMs = pauseBeforePoll({ hooked, failures: failures + 1 });
    await recordPoll(deps.db, fingerprint, { pauseMs, error: shown.slice(0, LONGEST_ERROR) || 'it failed' });
    return [];
  }
}

async function look(deps: PollDeps, services: readonly PolledService[]): Promise<string[]> {
  const [first] = services;
  const url = first && addressOf(deps.keyring, first);
  if (!first || url === null || url === undefined) return [];
  const branches = [...new Set(services.map(({ configuration }) => configuration.branch))];
  const heads = await deps.source.heads({ url, branches, signal: AbortSignal.timeout(LONGEST_MS) });
  const found: string[] = [];
  for (const { id, configuration } of services) {
    const sha = heads.get(configuration.branch);
    if (sha !== undefined && (await report(deps, id, configuration.branch, sha))) {
      found.push(`found commit ${sha.slice(0, 12)} for service ${id}`);
    }
  }
  return found;
}

/** Stores an event if the commit is new. The first commit of a branch of which nothing was deployed is only noted. */
async function report({ db }: PollDeps, serviceId: string, branch: string, sha: string): Promise<boolean> {
  switch (noveltyOf(sha, await knownCommits(db, serviceId, branch))) {
    case 'known':
    case 'wait':
      return false;
    case 'first':
      await recordHead(db, serviceId, branch, sha);
      return false;
    case 'news':
      return (
        (await insertCommitEvent(db, {
          service_id: serviceId,
          kind: 'push',
          branch,
          after_sha: sha,
          actor: 'poll',
        })) !== null
      );
  }
}
