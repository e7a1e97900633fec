import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Config, serviceUrl } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { isRouted } from '../../shared/services/model.js';
import { type Ask, ForgeRefusal } from './forge-client.js';
import { commentWith, createdId, deploymentWith, FORGES } from './forges.js';
import { commentBody, type DeploymentFacts, environmentReport, type ServiceFacts, statusReport } from './model.js';
import {
  deploymentById,
  deploymentOfCommit,
  type HeldReport,
  hasWaitingLines,
  lastLines,
  newestDeployment,
  noteAttempt,
  noteRemote,
  type ObservedDeployment,
  observeService,
  previewOfPull,
} from './store.js';

/** `sent` is the state that the git host shows now. `laterInMs` postpones the report until a log is complete. */
export type SendResult = { sent: object } | 'unchanged' | { laterInMs: number };

interface SendContext {
  db: Db;
  config: Pick<Config, 'publicUrl' | 'edgeDomain' | 'edgePort' | 'edgeTls'>;
  ask: Ask;
}

type Send = (context: SendContext, report: HeldReport) => Promise<SendResult>;

/** Reads the current state of a report's subject and sends it, unless the git host already shows it. */
export const sendReport: Send = (context, report) => SENDERS[report.kind](context, report);

const SENDERS: Readonly<Record<HeldReport['kind'], Send>> = { status, deployment, comment };

async function status(context: SendContext, held: HeldReport): Promise<SendResult> {
  const { service_id, subject: sha, forge, project } = held;
  const row = await deploymentOfCommit(context.db, service_id, sha);
  const about = row && (await aboutService(context, service_id));
  if (!about) return 'unchanged';
  const report = statusReport(about.factsOf(row), about.service.slug);
  const { state, description } = report;
  // GitLab refuses a state that the commit already has, so a status with only a new description is not sent.
  const shown = forge === 'gitlab' ? { state } : { state, description };
  if (isDeepStrictEqual(held.sent, shown)) return 'unchanged';
  await context.ask(FORGES[forge].status(project, sha, report));
  return { sent: shown };
}

async function deployment(context: SendContext, held: HeldReport): Promise<SendResult> {
  const { id, service_id, subject, project, forge, attempted_at } = held;
  const { deployments } = FORGES[forge];
  const row = await deploymentById(context.db, service_id, subject);
  const about = row && (await aboutService(context, service_id));
  if (!about || !deployments) return 'unchanged';
  const { service, preview, liveDeploymentId } = about;
  const report = environmentReport(about.factsOf(row), service, { preview, active: liveDeploymentId === row.id });
  const { state, description } = report;
  const shown = { state, description };
  if (isDeepStrictEqual(held.sent, shown)) return 'unchanged';
  let remoteId = held.remote_id;
  if (remoteId === '' && attempted_at !== null) {
    remoteId = deploymentWith(id, await context.ask(deployments.list(project, row.commit_sha, report)));
    if (remoteId !== '') await noteRemote(context.db, id, remoteId);
  }
  if (remoteId === '') {
    // A deployment that became inactive before GitHub was informed of it need not be reported.
    if (state === 'inactive') return 'unchanged';
    await noteAttempt(context.db, id);
    remoteId = createdId(await context.ask(deployments.create(project, row.commit_sha, report, id)));
    if (remoteId === '') throw new ForgeRefusal('made no deployment');
    await noteRemote(context.db, id, remoteId);
  }
  await context.ask(deployments.status(project, remoteId, report));
  return { sent: shown };
}

/** Log lines of a failed deployment in a pull request's comment, and how long to wait for these lines. */
const LINES = 20;
const LINES_MS = 15_000;

async function comment(context: SendContext, held: HeldReport): Promise<SendResult> {
  const { db, ask } = context;
  const { id, service_id: baseId, subject: number, project, forge, remote_id, attempted_at } = held;
  const { createComment, editComment, comments } = FORGES[forge];
  const found = await previewOfPull(db, baseId, number);
  const about = found && (await aboutService(context, found.service_id));
  if (!about && remote_id === '' && attempted_at === null) return 'unchanged';
  let body = commentBody(null, id);
  if (about && found) {
    const row = await newestDeployment(db, found.service_id);
    const failed = row?.status === 'failed' ? row : null;
    const age = failed === null ? LINES_MS : Date.now() - (failed.finished_at?.getTime() ?? 0);
    if (failed !== null && age < LINES_MS && (await hasWaitingLines(db, failed))) return { laterInMs: 1000 };
    const log = failed === null ? [] : await lastLines(db, failed, LINES);
    const facts = row === null ? null : about.factsOf(row);
    body = commentBody({ service: about.service, closedReason: found.closed_reason, deployment: facts, log }, id);
  }
  const shown = { digest: createHash('sha256').update(body).digest('hex') };
  if (isDeepStrictEqual(held.sent, shown)) return 'unchanged';
  let remoteId = remote_id;
  if (remoteId === '' && attempted_at !== null) {
    const since = new Date(attempted_at.getTime() - CLOCKS_MS);
    remoteId = commentWith(id, await ask(comments(project, number, since)));
    if (remoteId !== '') await noteRemote(db, id, remoteId);
  }
  if (remoteId !== '') {
    const edited = await ask(editComment(project, number, remoteId, body), { missing: true });
    if (edited !== undefined) return { sent: shown };
    // A user has deleted the comment, so a new one is created.
    await noteRemote(db, id, '');
  }
  if (!about) return 'unchanged';
  await noteAttempt(db, id);
  const madeId = createdId(await ask(createComment(project, number, body)));
  if (madeId !== '') await noteRemote(db, id, madeId);
  return { sent: shown };
}

/** Tolerated difference between the clocks of this host and the git host, in milliseconds. */
const CLOCKS_MS = 10 * 60_000;

interface About {
  service: ServiceFacts;
  preview: boolean;
  liveDeploymentId: string | null;
  factsOf(row: ObservedDeployment): DeploymentFacts;
}

async function aboutService({ db, config }: SendContext, id: string): Promise<About | null> {
  const row = await observeService(db, id);
  if (row === null) return null;
  const url = isRouted(row.kind) && row.live_deployment_id !== null ? serviceUrl(config, row.slug) : null;
  return {
    service: { name: row.name, slug: row.slug, url },
    preview: row.is_preview,
    liveDeploymentId: row.live_deployment_id,
    factsOf: (deployment) => ({
      status: deployment.status,
      error: deployment.error,
      steps: deployment.steps,
      commitSha: deployment.commit_sha,
      link: `${config.publicUrl}/w/${row.workspace_id}/s/${id}/d/${deployment.id}`,
    }),
  };
}
