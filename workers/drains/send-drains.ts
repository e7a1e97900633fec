import { errorMessage } from '../../shared/core/error-registry.js';
import { signalUrl } from '../../shared/drains/model.js';
import { openFrom, SEALED } from '../../shared/secrets/sealed-columns.js';
import { Masker } from '../masking/masker.js';
import { postJson, type SenderDeps } from '../webhooks/post-json.js';
import { type Outcome, outcomeOf, withoutAnswer } from './decide-outcome.js';
import { recordFailure, recordIdle, recordProgress, type TakenSignal, takeSignals } from './drain-store.js';
import { type Batch, readBatch } from './read-batch.js';

const AT_ONCE = 64;
/** How long a drain's logs, metrics or traces are sent before the other two get their turn, in milliseconds. */
const TURN_MS = 10_000;
const IDLE_MS = 5_000;
const ANSWER_BYTES = 16 * 1024;

/** Sends logs, metrics and traces to drains. A batch is sent twice if the process dies before recording it. */
export class DrainSender {
  readonly #deps: SenderDeps;
  readonly #busy = new Map<string, Promise<void>>();

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Starts to send what is due. Does not wait for the collectors, so that a slow one does not delay the others. */
  async start(): Promise<void> {
    const most = AT_ONCE - this.#busy.size;
    if (most <= 0) return;
    for (const taken of await takeSignals(this.#deps.db, { most, busy: [...this.#busy.keys()] })) {
      const work = sendSignal(this.#deps, taken).finally(() => this.#busy.delete(taken.drain_id));
      this.#busy.set(taken.drain_id, work);
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#busy.values());
  }
}

/** Sends batches of a signal until none is left, one fails, or its turn is over. Never rejects. */
async function sendSignal(deps: SenderDeps, taken: TakenSignal): Promise<void> {
  const { db, log } = deps;
  try {
    const end = Date.now() + TURN_MS;
    for (let now: TakenSignal | null = taken; now !== null; ) {
      const batch = await readBatch(db, now);
      if (batch === null) return await recordIdle(db, now, IDLE_MS);
      now = await sendBatch(deps, now, batch, end);
    }
  } catch (error) {
    // The claim is not released. When its lease expires, the signal is sent again.
    log.warn({ drainId: taken.drain_id, signal: taken.signal }, `a drain was not served: ${errorMessage(error)}`);
  }
}

/** Sends a batch and records the outcome. Returns the signal if its next batch is to be sent now; null otherwise. */
async function sendBatch(deps: SenderDeps, taken: TakenSignal, batch: Batch, end: number): Promise<TakenSignal | null> {
  const { db } = deps;
  const { request, oldest, position, more, lost, lossText } = batch;
  const outcome: Outcome =
    request === null ? { result: 'sent', rejected: 0, error: '' } : await post(deps, taken, request);
  if (outcome.result === 'again') {
    const { error, waitMs } = outcome;
    await recordFailure(db, taken, { error, waitMs, behindSince: oldest ?? new Date() });
    return null;
  }
  const goesOn = more && Date.now() < end;
  const skipped = outcome.result === 'skipped';
  const errors = [skipped ? `${batch.count} records were refused: ${outcome.error}` : outcome.error, lossText];
  const recorded = await recordProgress(db, taken, {
    position,
    sent: request !== null && !skipped,
    error: errors.filter((text) => text !== '').join('; '),
    dropped: lost + (skipped ? batch.count : outcome.rejected),
    behindSince: more ? oldest : null,
    dueInMs: goesOn ? null : more ? 0 : IDLE_MS,
  });
  if (!recorded || !goesOn) return null;
  const { until = taken.sent_until, ids = [] } = position;
  return { ...taken, tries: 0, sent_until: until, sent_ids: [...taken.sent_ids, ...ids] };
}

async function post(deps: SenderDeps, taken: TakenSignal, request: object): Promise<Outcome> {
  const { drain_id, signal, endpoint, sealed_headers, tries } = taken;
  const headers: Record<string, string> =
    sealed_headers === null ? {} : JSON.parse(openFrom(deps.keyring, SEALED.drainHeaders, drain_id, sealed_headers));
  try {
    const posting = { headers, body: JSON.stringify(request), answerBytes: ANSWER_BYTES };
    const answer = await postJson(deps, signalUrl(endpoint, signal), posting);
    // A collector's response may quote a header, which may contain a secret.
    const body = new Masker(Object.values(headers)).mask(answer.body);
    return outcomeOf({ ...answer, body }, tries, new Date());
  } catch (error) {
    return withoutAnswer(`not sent: ${errorMessage(error)}`, tries);
  }
}
