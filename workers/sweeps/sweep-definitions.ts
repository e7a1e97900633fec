import { deleteAlertsOfGone } from '../../shared/alerts/store.js';
import { deleteOldAuditEntries } from '../../shared/audit/store.js';
import { deleteOldCommitEvents } from '../../shared/commits/store.js';
import { markHostsAway } from '../../shared/data/store.js';
import { foldDeploymentCounts } from '../../shared/deployments/deployment-statistics.js';
import { deleteOldDetections } from '../../shared/detections/store.js';
import { deleteReleasedDomains } from '../../shared/domains/store.js';
import { deleteExpiredInvitations } from '../../shared/identity/invitation-store.js';
import { deleteExpiredSessions } from '../../shared/identity/session-store.js';
import { deleteExpiredSignInLinks } from '../../shared/identity/sign-in-link-store.js';
import { wantedDigests, wantedTools } from '../../shared/images/store.js';
import { dropExpiredLogs, ensureLogDays } from '../../shared/logs/log-retention.js';
import { deleteMetricsOfGone } from '../../shared/metrics/history-store.js';
import { deleteOldPulls } from '../../shared/previews/pull-store.js';
import { goneServices } from '../../shared/pushes/store.js';
import type { Engine } from '../../shared/queues/queue-engine.js';
import { deleteExpiredReceipts } from '../../shared/receipts/store.js';
import { deleteExpiredRecordings } from '../../shared/remote/recording-store.js';
import { deleteOldRemoteSessions } from '../../shared/remote/store.js';
import { deleteOldRuns } from '../../shared/runs/store.js';
import { freeLostNumbers, recordUsersInUse } from '../../shared/services/user-numbers.js';
import { deleteOldDeliveries } from '../../shared/webhooks/store.js';
import { forgetSilentWorkers } from '../../shared/workers/store.js';
import { sendAlertMails } from '../alerts/alert-mails.js';
import { evaluateAlerts } from '../alerts/evaluate-alerts.js';
import { removeHiddenBackups } from '../backups/remove-backups.js';
import { removeCaches } from '../builders/build-folder.js';
import { settleCanaries } from '../canaries/settle-canary.js';
import { pollRepositories } from '../commits/poll-repositories.js';
import { emptyTrash } from '../core/remove-folders.js';
import { sweepEach } from '../core/sweep-each.js';
import { watchStorage } from '../data/storage-watch.js';
import { retireOldReleases } from '../deploy/retire-releases.js';
import { DrainSender } from '../drains/send-drains.js';
import { deleteOldReports } from '../forge/store.js';
import { collectMetrics, keepMetrics } from '../metrics/collect-metrics.js';
import { sendDeploymentMails } from '../notifications/deployment-mails.js';
import { recordReleasesToStart, staleReleases } from '../releases/release-store.js';
import { deleteOldReplicas } from '../replicas/store.js';
import { tickSchedules } from '../runs/tick-schedules.js';
import { usersInUse } from '../sandbox/users-in-use.js';
import { scaleServices } from '../scaling/scale-services.js';
import { sendToSleep } from '../sleep/send-to-sleep.js';
import { removeDeletedVolumes } from '../volumes/service-volumes.js';
import { sendWebhooks, storeBudgetDeliveries } from '../webhooks/send-webhooks.js';
import type { JobDeps } from '../worker-deps.js';
import { sendBudgetAlerts } from './budget-alerts.js';
import { checkDomains } from './check-domains.js';
import { reapPreviews } from './reap-previews.js';
import { reviveReleases } from './revive-releases.js';
import { expireBackups, removeBackupLeftovers, scheduleBackups } from './schedule-backups.js';
import { showPullRequests } from './show-pull-requests.js';
import type { SweepDefinition } from './sweeps.js';
import { watchVolumes } from './watch-volumes.js';

function sweepOf(scope: SweepDefinition['scope']) {
  return (
    name: string,
    schedule: string,
    sweep: SweepDefinition['sweep'],
    of?: SweepDefinition['of'],
  ): SweepDefinition => {
    return { name, schedule, sweep, scope, of };
  };
}

/** Returns every sweep of a worker. */
export function sweepDefinitions(deps: JobDeps, engine: Pick<Engine, 'removeOldJobs'>): SweepDefinition[] {
  const { dispatcher, db, data, config } = deps;
  const ofPlatform = sweepOf('platform');
  const ofHost = sweepOf('host');
  const drains = new DrainSender(deps);
  return [
    ofPlatform(
      'dispatch',
      '*/2 * * * * *',
      withoutRepairs(() => dispatcher.dispatch()),
    ),
    ofPlatform(
      'schedules',
      '* * * * * *',
      withoutRepairs(() => tickSchedules(deps)),
    ),
    ofPlatform('jobs', '*/5 * * * * *', () => dispatcher.reconcile()),
    ofPlatform(
      'notifications',
      '*/2 * * * * *',
      withoutRepairs(() => sendDeploymentMails(deps)),
    ),
    ofPlatform(
      'canaries',
      '*/2 * * * * *',
      withoutRepairs(() => settleCanaries(deps)),
    ),
    ofPlatform('releases', '*/10 * * * * *', () => stopStaleReleases(deps)),
    ofPlatform(
      'idle-releases',
      '*/15 * * * * *',
      withoutRepairs(() => recordReleasesToStart(db)),
    ),
    ofHost('replicas', '*/15 * * * * *', () => reviveReleases(deps), 'releasesToStart'),
    ofPlatform('scaling', `*/${config.metricsSeconds} * * * * *`, async () => {
      await collectMetrics(deps);
      await scaleServices(deps);
      await sendToSleep(deps);
      return [];
    }),
    ofPlatform(
      'metrics',
      '50 * * * * *',
      withoutRepairs(() => keepMetrics(deps)),
    ),
    // Alerts are evaluated shortly after the end of a minute, because rules evaluate whole minutes.
    ofPlatform(
      'alerts',
      '5 * * * * *',
      withoutRepairs(() => evaluateAlerts(deps)),
    ),
    ofPlatform(
      'alert-mails',
      '*/10 * * * * *',
      withoutRepairs(() => sendAlertMails(deps)),
    ),
    ofHost('storage', '*/20 * * * * *', () => watchStorage(deps), 'databases'),
    ofHost('service-volumes', '*/10 * * * * *', () => watchVolumes(deps), 'volumes'),
    ofHost('volumes', '25 * * * * *', () => removeVolumes(deps)),
    // This sweep runs rarely, because it examines many files. It need not run more often, because a deleted service's
    // user ID is not reused for hours.
    ofHost(
      'users',
      '10 */10 * * * *',
      withoutRepairs(() => recordUsersInUse(db, data.hostId, () => usersInUse(config.dataDir))),
    ),
    ofPlatform('lost-users', '0 17 * * * *', () => findLostUsers(deps)),
    ofPlatform('away', '*/10 * * * * *', () => noteHostsAway(deps)),
    ofPlatform('retention', '30 * * * * *', () => deleteExpired(deps)),
    ofPlatform(
      'ended-jobs',
      '40 * * * * *',
      withoutRepairs(() => engine.removeOldJobs()),
    ),
    ofHost('trash', '5 * * * * *', () => retryRemovals(deps)),
    ofPlatform(
      'webhooks',
      '*/2 * * * * *',
      withoutRepairs(() => sendWebhooks(deps)),
    ),
    ofPlatform(
      'drains',
      '*/2 * * * * *',
      withoutRepairs(() => drains.start()),
    ),
    ofPlatform(
      'budget-webhooks',
      '20 * * * * *',
      withoutRepairs(() => storeBudgetDeliveries(deps)),
    ),
    ofPlatform('polls', '*/5 * * * * *', () => pollRepositories(deps)),
    ofPlatform('budgets', '15 * * * * *', () => sendBudgetAlerts(deps)),
    ofPlatform('backups', '25 * * * * *', async () => {
      await scheduleBackups(deps);
      return expireBackups(deps);
    }),
    ofHost('backup-removal', '55 * * * * *', () => removeHiddenBackups(deps)),
    ofHost('backup-leftovers', '35 */10 * * * *', () => removeBackupLeftovers(deps)),
    ofPlatform('domains', '*/20 * * * * *', () => checkDomains(deps)),
    ofPlatform('previews', '*/10 * * * * *', () => keepPreviews(deps)),
    ofHost('images', '45 */5 * * * *', () => removeUnusedFiles(deps)),
  ];
}

function withoutRepairs(work: () => Promise<unknown>): SweepDefinition['sweep'] {
  return async () => {
    await work();
    return [];
  };
}

async function stopStaleReleases(deps: JobDeps): Promise<string[]> {
  const stale = await staleReleases(deps.db);
  const failure = 'the old releases of a service do not stop';
  const facts = (serviceId: string) => ({ serviceId });
  // Many services are handled at the same time, because a release that stops slowly takes a minute.
  return sweepEach(
    [...new Set(stale.map(({ serviceId }) => serviceId))],
    { ...deps, atOnce: 16, failure, facts },
    async (id) => {
      await retireOldReleases(deps, id, new AbortController().signal);
      return stale
        .filter(({ serviceId }) => serviceId === id)
        .map((release) => `stopped release ${release.deploymentId}`);
    },
  );
}

async function keepPreviews(deps: JobDeps): Promise<string[]> {
  return [...(await reapPreviews(deps)), ...(await showPullRequests(deps))];
}

async function removeVolumes(deps: JobDeps): Promise<string[]> {
  const { db, data, config } = deps;
  const gone = async (ids: readonly string[]) => new Set(await goneServices(db, ids));
  return [
    ...removed(await data.removeVolumes(), 'volumes of deleted databases'),
    ...removed(await removeDeletedVolumes(deps, data.hostId), 'deleted volumes'),
    ...removed(await removeCaches(config.dataDir, gone), 'build caches of deleted services'),
  ];
}

async function findLostUsers({ db }: JobDeps): Promise<string[]> {
  const lost = await freeLostNumbers(db);
  return lost > 0 ? [`freed ${lost} user numbers that no service has`] : [];
}

async function noteHostsAway({ db }: JobDeps): Promise<string[]> {
  const names = await markHostsAway(db);
  return names.map((name) => `the host of database ${name} is away`);
}

async function deleteExpired({ db }: JobDeps): Promise<string[]> {
  await forgetSilentWorkers(db);
  await foldDeploymentCounts(db);
  await ensureLogDays(db);
  return [
    ...removed(await dropExpiredLogs(db), 'days of expired log lines'),
    ...removed(await deleteMetricsOfGone(db), 'figures of deleted services'),
    ...removed(await deleteAlertsOfGone(db), 'alert rules of deleted services'),
    ...removed(await deleteOldReplicas(db), 'stopped replicas'),
    ...removed(await deleteOldRuns(db), 'runs'),
    ...removed(await deleteExpiredReceipts(db), 'receipts'),
    ...removed(await deleteExpiredSessions(db), 'sessions'),
    ...removed(await deleteExpiredSignInLinks(db), 'sign-in links'),
    ...removed(await deleteExpiredInvitations(db), 'invitations'),
    ...removed(await deleteOldDetections(db), 'detections'),
    ...removed(await deleteOldCommitEvents(db), 'reports of commits'),
    ...removed(await deleteOldPulls(db), 'closed pull requests'),
    ...removed(await deleteOldDeliveries(db), 'deliveries of webhooks'),
    ...removed(await deleteOldReports(db), 'reports to git hosts'),
    ...removed(await deleteReleasedDomains(db), 'reserved domains'),
    ...removed(await deleteExpiredRecordings(db), 'parts of recordings of shells'),
    ...removed(await deleteOldRemoteSessions(db), 'ended shells'),
    ...removed(await deleteOldAuditEntries(db), 'audit entries'),
  ];
}

async function retryRemovals({ config: { dataDir }, log }: JobDeps): Promise<string[]> {
  return removed(await emptyTrash({ dataDir, log }), 'folders that could not be removed before');
}

async function removeUnusedFiles({ db, images, toolchains, builder, source }: JobDeps): Promise<string[]> {
  const wanted = await wantedDigests(db);
  const tools = await wantedTools(db);
  return [
    ...removed(await images.sweep((digest) => wanted.has(digest)), 'images'),
    ...removed(await toolchains.sweep((name) => tools.has(name)), 'unused tools'),
    ...removed(await builder.sweep(), 'unused build caches'),
    ...removed(await source.sweep(), 'unused mirrors'),
  ];
}

function removed(number: number, what: string): string[] {
  return number > 0 ? [`removed ${number} ${what}`] : [];
}
