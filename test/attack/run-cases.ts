import { setTimeout as delay } from 'node:timers/promises';
import type { Entry } from '../chaos/entries.js';
import { CALLERS } from './cases-callers.js';
import { DATA } from './cases-data.js';
import { GIT } from './cases-git.js';
import { HOSTED } from './cases-hosted.js';
import { OUTSIDE } from './cases-outside.js';
import { REMOTE } from './cases-remote.js';
import { VOLUMES } from './cases-volumes.js';
import type { CaseContext, HostileCase } from './hostile-case.js';
import type { OrdinaryMix } from './ordinary-mix.js';
import { KINDS, type Kind, percentile99, REQUESTS, type Sample } from './work-loop.js';

export const CASES: readonly HostileCase[] = [
  ...DATA,
  ...GIT,
  ...CALLERS,
  ...OUTSIDE,
  ...HOSTED,
  ...REMOTE,
  ...VOLUMES,
];

const MAX_RATIO = 2;
const ALIVE: readonly Kind[] = ['alive'];
/** Times below this count as no harm, whatever the ratio. */
const FLOOR_MS = 50;
const CASE_MS = 120_000;
/** An attack may harm others until this long after its end. */
const AFTER_MS = 1_000;

/** The outcome of a case. `result` is '' if the attack did not reach its aim. */
export interface CaseResult {
  name: string;
  rule: number;
  result: string;
  harmed: Sample[];
  samples: Sample[];
}

/** Tries the cases one after another, during ordinary work. */
export async function runCases(
  context: Omit<CaseContext, 'signal'>,
  cases: readonly HostileCase[],
  say: (what: string) => void,
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const { name, rule, attempt } of cases) {
    say(name);
    const begun = Date.now();
    const signal = AbortSignal.timeout(CASE_MS);
    const late = delay(CASE_MS, `it did not end within ${CASE_MS} ms`, { ref: false });
    const tried = attempt({ ...context, signal }).catch((error: Error) => `not tried: ${error.message}`);
    const result = await Promise.race([tried, late]);
    await delay(AFTER_MS);
    const { harmed, samples } = resultOf(context.mix, name, begun);
    if (result !== '') say(`  REACHED ITS AIM: ${result}`);
    for (const { kind, failure } of harmed) say(`  harmed: ${kind}: ${failure}`);
    results.push({ name, rule, result, harmed, samples });
  }
  return results;
}

/** Returns what happened to ordinary work since `begun`, for a case without a result. */
export function resultOf(mix: OrdinaryMix, name: string, begun: number): CaseResult {
  const samples = mix.since(begun);
  const harmed = samples.flatMap((sample) => {
    const boundMs = KINDS[sample.kind].boundMs * mix.slowness;
    const failure = sample.failure || (sample.ms > boundMs ? `not done within ${Math.round(boundMs)} ms` : '');
    return failure === '' ? [] : [{ ...sample, failure }];
  });
  return { name, rule: 0, result: '', samples, harmed };
}

/** Summarizes the cases. A short run beside other work does not judge the times. */
export function caseEntries(results: readonly CaseResult[], quiet: readonly Sample[], judgesTimes: boolean): Entry[] {
  const attacked = results.flatMap(({ samples }) => samples);
  const [before, during] = [percentile99(quiet), percentile99(attacked)];
  const bound = Math.max(MAX_RATIO * before, FLOOR_MS);
  const [calm, busy] = [percentile99(quiet, ALIVE), percentile99(attacked, ALIVE)];
  const loopBound = Math.max(MAX_RATIO * calm, FLOOR_MS);
  const alive = attacked.filter(({ kind }) => kind === 'alive');
  const longest = alive.reduce((most, { ms }) => Math.max(most, Math.round(ms)), 0);
  return [
    {
      what: 'attacks that reached their aim',
      counted: results.length,
      wrong: results
        .filter(({ result }) => result !== '')
        .map(({ name, result }) => `${name}: ${result.slice(0, 300)}`),
    },
    {
      what: 'ordinary work that was harmed',
      counted: attacked.length,
      wrong: results.flatMap(({ name, harmed }) =>
        harmed.map(({ kind, failure }) => `${kind} at "${name}": ${failure}`),
      ),
    },
    {
      what: `99th percentile of ordinary requests: ${before} ms quiet, ${during} ms under attack, at most ${bound} ms`,
      counted: attacked.filter(({ kind }) => REQUESTS.includes(kind)).length,
      wrong: judgesTimes && during > bound ? [`${(during / before).toFixed(1)} times the quiet run`] : [],
    },
    {
      what: `99th percentile of the API's smallest answer, which shows its event loop: ${calm} ms quiet, ${busy} ms under attack (longest ${longest} ms), at most ${loopBound} ms`,
      counted: alive.length,
      wrong: judgesTimes && busy > loopBound ? [`${(busy / calm).toFixed(1)} times the quiet run`] : [],
    },
  ];
}

/** Formats one line for each case. */
export function caseTable(results: readonly CaseResult[], quiet: readonly Sample[]): string {
  const width = Math.max(...results.map(({ name }) => name.length));
  const head = `${'case'.padEnd(width)}  rule  result   harmed  p99 quiet/attack (ms)`;
  const lines = results.map(({ name, rule, result, harmed, samples }) => {
    const figures = `${percentile99(quiet)}/${percentile99(samples)}`;
    const verdict = result === '' ? 'held' : 'REACHED';
    return `${name.padEnd(width)}  ${rule === 0 ? '   -' : String(rule).padStart(4)}  ${verdict.padEnd(7)}  ${String(harmed.length).padStart(6)}  ${figures}`;
  });
  return [head, ...lines].join('\n');
}
