import { type Engine, unlessGone } from '../../docker/engine.js';
import { exitDetail } from '../exit-detail.js';
import type { SwarmTask, SwarmView } from './view.js';

const KILLED = 137;

/** How a task ended, in words that follow "replica 1". */
export async function taskEnd(engine: Engine, task: SwarmTask, memoryMb: number): Promise<string> {
  const { State: state, Err: error = '', ContainerStatus: container } = task.Status;
  if (state === 'rejected') return `could not be started: ${error}`;
  const start = /^starting container failed: (.*)/s.exec(error);
  if (start) return `could not be started: ${start[1]}`;
  if (error.includes('unhealthy container')) return "was ended: the image's own HEALTHCHECK failed";
  const code = container?.ExitCode ?? 0;
  if (code === KILLED) return exitDetail(await causeOfKill(engine, container?.ContainerID ?? ''), memoryMb);
  if (code === 0 && state === 'failed' && error !== '') return `failed: ${error}`;
  return exitDetail(String(code), memoryMb);
}

/** Only the engine of the task's own node knows, so what runs on other nodes was ended by "SIGKILL". */
async function causeOfKill({ calls }: Engine, containerId: string): Promise<string> {
  const container = containerId === '' ? undefined : await unlessGone(calls.getContainer(containerId).inspect());
  return container?.State.OOMKilled ? 'out-of-memory' : 'signal SIGKILL, as by the kernel where memory has run out';
}

/** Why the swarm takes a task away that has not ended by itself. */
export function taskLoss(view: SwarmView, task: SwarmTask): string {
  const node = view.nodeOf(task);
  const name = node?.Description.Hostname ?? 'its node';
  if (view.isLost(task)) return `was lost with node ${name}, which is down`;
  if (node && node.Spec.Availability !== 'active')
    return `left node ${name}, whose availability is ${node.Spec.Availability}`;
  return 'was stopped by the swarm';
}
