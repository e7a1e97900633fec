import type { Deployment } from './api-types.js';
import { oneLine, printable, seconds, shortId } from './terminal-text.js';

type Step = Deployment['steps'][number];

const WIDTH = 9;
const MAX_ERROR_LINES = 12;

/** Formats a finished step: `  build    11.8 s   usually 14 s`. */
export function stepLine(step: Step, note: string): string {
  const ms = Date.parse(step.finishedAt ?? step.startedAt) - Date.parse(step.startedAt);
  return `  ${step.name.padEnd(WIDTH)}${seconds(ms).padStart(7)}${note === '' ? '' : `   ${note}`}`;
}

export function runningLine(name: string, ms: number, note: string): string {
  return `  ${name.padEnd(WIDTH)}${seconds(ms).padStart(7)}${note === '' ? '' : `   ${oneLine(note)}`}`;
}

/**
 * Returns the median build time of at most five live deployments, in milliseconds. Null if fewer than two were built.
 */
export function usualBuild(earlier: readonly Deployment[]): number | null {
  const times = earlier
    .filter(({ status }) => status === 'live')
    .flatMap(({ steps }) => steps.filter(({ name }) => name === 'build'))
    .flatMap(({ startedAt, finishedAt }) => (finishedAt ? [Date.parse(finishedAt) - Date.parse(startedAt)] : []))
    .filter((ms) => ms > 0)
    .slice(0, 5)
    .sort((a, b) => a - b);
  return times.length < 2 ? null : (times[Math.floor(times.length / 2)] ?? null);
}

/** Returns a deployment's duration from request to finish, in milliseconds; 0 if it is unfinished. */
export function wholeTime({ createdAt, finishedAt }: Deployment): number {
  return finishedAt === null ? 0 : Date.parse(finishedAt) - Date.parse(createdAt);
}

export function errorLines({ error }: Deployment): string[] {
  const lines = printable(error)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const shown = lines.length > MAX_ERROR_LINES ? [...lines.slice(0, MAX_ERROR_LINES - 1), '…'] : lines;
  return shown.map((line) => `    ${line}`);
}

/** Returns a line that says what is live after a failed deployment, and how to read its log. */
export function afterFailure(deployment: Deployment, liveDeploymentId: string | null, serviceName: string): string {
  const serves =
    liveDeploymentId === null ? 'No release is live yet.' : `Release ${shortId(liveDeploymentId)} is still live.`;
  return `${serves} For the whole log, run rnv logs -s ${quoted(serviceName)} --deployment ${shortId(deployment.id)}`;
}

function quoted(name: string): string {
  return /^[\w.@/-]+$/.test(name) ? name : `'${printable(name).replaceAll("'", "'\\''")}'`;
}
