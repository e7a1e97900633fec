import { type Engine, unlessGone } from '../../docker/docker-engine.js';
import { exitDetail } from '../failure-text.js';
import { REFUSED, REFUSED_CODE } from './server-scripts.js';
import type { SwarmTask } from './swarm-view.js';
import { readOutput } from './task-output.js';

const KILLED = 137;
const HEALTH_OUTPUT = 300;

/** Returns how a task ended, as the rest of a sentence that begins "replica 1". */
export async function taskEnd(engine: Engine, task: SwarmTask, memoryMb: number): Promise<string> {
  const { State: state, Err: error = '', ContainerStatus: container } = task.Status;
  if (state === 'rejected') return `could not be started: ${error}`;
  const start = /^starting container failed: (.*)/s.exec(error);
  if (start) return `could not be started: ${start[1]}`;
  const id = container?.ContainerID;
  // Only the engine of the container's node knows the container's state.
  const found = id ? (await unlessGone(engine.calls.getContainer(id).inspect()))?.State : undefined;
  // Swarm stops an unhealthy container, and an application that then exits with code 0 leaves no error.
  if (found?.Health?.Status === 'unhealthy' || error.includes('unhealthy container'))
    return unhealthyMessage(found?.Health?.Log);
  const code = container?.ExitCode ?? 0;
  if (code === KILLED) {
    const cause = found?.OOMKilled ? 'out-of-memory' : 'signal SIGKILL, which the kernel sends when memory has run out';
    return exitDetail(cause, memoryMb);
  }
  if (code === 0 && state === 'failed' && error !== '') return `failed: ${error}`;
  return exitDetail(String(code), memoryMb);
}

/** Returns why a database server refused to start; null if it did not refuse. */
export async function refusalOf(engine: Engine, task: SwarmTask): Promise<string | null> {
  if (task.Status.ContainerStatus?.ExitCode !== REFUSED_CODE) return null;
  const output = await readOutput(engine, task.ID, { tail: 5 }).catch(() => []);
  const text = Buffer.concat(output.map(({ bytes }) => bytes)).toString('utf8');
  const line = text.split('\n').find((one) => one.startsWith(REFUSED));
  return line?.slice(REFUSED.length) ?? null;
}

function unhealthyMessage(checks: readonly { ExitCode: number; Output: string }[] = []): string {
  const last = checks.findLast((check) => check.ExitCode !== 0);
  const said = last?.Output.trim().slice(0, HEALTH_OUTPUT) ?? '';
  return `was ended: the image's own HEALTHCHECK failed${said === '' ? '' : ` (${said})`}`;
}
