import type { Payloads } from '../../shared/queues/work-catalog.js';
import { SealError } from '../../shared/secrets/keyring.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { MAX_TRIES, pauseAfterAnswer } from '../../shared/webhooks/model.js';
import type { JobHelpers } from '../engine/job-helpers.js';
import { Masker } from '../masking/masker.js';
import type { SenderDeps } from '../webhooks/post-json.js';
import { ForgeAway, ForgeRefusal, forgeClient } from './forge-client.js';
import { FORGES } from './forges.js';
import { type SendResult, sendReport } from './send-report.js';
import { endReport, type HeldReport, postponeReport, releaseTarget, takeReport } from './store.js';

/** A report is not retried if the last change that it reports is older than this. */
const MAX_AGE_MS = 24 * 60 * 60_000;
/** Pause before a report is retried after an error of the platform itself. */
const FAULT_MS = 30_000;

const WHAT: Readonly<Record<HeldReport['kind'], string>> = {
  status: 'The status of a commit',
  comment: 'A comment in a pull request',
  deployment: 'A deployment',
};

/** Sends the state of a deployment or preview to a git host. An unavailable git host delays only its own reports. */
export async function forgeReportJob(
  deps: SenderDeps,
  { forgeReportId }: Payloads['forge-report'],
  { signal }: Pick<JobHelpers, 'signal'>,
): Promise<string> {
  const { db } = deps;
  const report = await takeReport(db, forgeReportId);
  if (report === null) return 'sent already, or waits for its turn';
  const { id, hook_id, kind } = report;
  try {
    const result = await send(deps, report, signal);
    if (typeof result === 'object' && 'laterInMs' in result) {
      await postponeReport(db, id, { error: '', waitMs: result.laterInMs });
      await releaseTarget(db, hook_id, { failures: report.failures });
      return 'waits for the log';
    }
    await endReport(db, report, { error: '', ...(result === 'unchanged' ? {} : result) });
    await releaseTarget(db, hook_id, { failures: 0, sent: result !== 'unchanged' });
    return result === 'unchanged' ? result : 'sent';
  } catch (error) {
    if (error instanceof ForgeRefusal) {
      await endReport(db, report, { error: `${WHAT[kind]} was refused: ${error.message}` });
      await releaseTarget(db, hook_id, { failures: 0 });
      return `refused: ${error.message}`;
    }
    if (error instanceof ForgeAway) return away(deps, report, error);
    const waitMs = signal.aborted ? 0 : FAULT_MS;
    await postponeReport(db, id, { error: '', waitMs });
    await releaseTarget(db, hook_id, { failures: report.failures, waitMs });
    if (signal.aborted) return 'interrupted';
    throw error;
  }
}

async function away({ db, log }: SenderDeps, report: HeldReport, { message, waitMs }: ForgeAway): Promise<string> {
  const failures = report.failures + 1;
  const pause = pauseAfterAnswer(Math.min(failures, MAX_TRIES - 1), waitMs) ?? 0;
  const error = `${WHAT[report.kind]} was not sent: ${message}`;
  log.debug({ hookId: report.hook_id, failures }, error);
  if (Date.now() - report.changed_at.getTime() > MAX_AGE_MS) await endReport(db, report, { error });
  else await postponeReport(db, report.id, { error, waitMs: pause });
  await releaseTarget(db, report.hook_id, { failures, waitMs: pause });
  return `later: ${message}`;
}

async function send(
  { db, keyring, config, resolve }: SenderDeps,
  report: HeldReport,
  signal: AbortSignal,
): Promise<SendResult> {
  const { hook_id, forge, api_url: apiUrl, sealed_token } = report;
  const token = openToken();
  const ask = forgeClient({
    apiUrl,
    allowLocal: config.allowLocalRepositories,
    headers: FORGES[forge].headers(token),
    masker: new Masker([token]),
    signal,
    resolve,
  });
  return sendReport({ db, config, ask }, report);

  function openToken(): string {
    try {
      return openFrom(keyring, SEALED.forgeToken, hook_id, sealed_token);
    } catch (error) {
      if (error instanceof SealError) throw new ForgeRefusal('the token cannot be opened; set it again');
      throw error;
    }
  }
}
