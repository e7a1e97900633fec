import type { ContainerInspectInfo } from 'dockerode';
import { type Engine, unlessGone } from '../../docker/engine.js';
import { exitDetail } from '../exit-detail.js';
import { hasEnded, type SwarmTask, type SwarmView } from './view.js';

const KILLED = 137;
const HEALTH_OUTPUT = 300;
/** A manager that was just started gave the task to a node before it gave it addresses. */
const NOT_ATTACHED = 'missing network attachments';

/** How a task ended, in words that follow "replica 1". */
export async function taskEnd(engine: Engine, task: SwarmTask, memoryMb: number): Promise<string> {
  const { State: state, Err: error = '', ContainerStatus: container } = task.Status;
  if (state === 'rejected') return `could not be started: ${error}`;
  const start = /^starting container failed: (.*)/s.exec(error);
  if (start) return `could not be started: ${start[1]}`;
  const found = await containerState(engine, container?.ContainerID ?? '');
  // Swarm ends what is unhealthy; an application that then ends in good order leaves no error.
  if (found?.Health?.Status === 'unhealthy' || error.includes('unhealthy container'))
    return sickness(found?.Health?.Log);
  const code = container?.ExitCode ?? 0;
  if (code === KILLED) {
    const cause = found?.OOMKilled ? 'out-of-memory' : 'signal SIGKILL, as by the kernel where memory has run out';
    return exitDetail(cause, memoryMb);
  }
  if (code === 0 && state === 'failed' && error !== '') return `failed: ${error}`;
  return exitDetail(String(code), memoryMb);
}

type ContainerState = ContainerInspectInfo['State'];

/** Only the engine of the task's own node knows its container; undefined where that is another one. */
async function containerState({ calls }: Engine, id: string): Promise<ContainerState | undefined> {
  return id === '' ? undefined : (await unlessGone(calls.getContainer(id).inspect()))?.State;
}

function sickness(checks: readonly { ExitCode: number; Output: string }[] = []): string {
  const last = checks.findLast((check) => check.ExitCode !== 0);
  const said = last?.Output.trim().slice(0, HEALTH_OUTPUT) ?? '';
  return `was ended: the image's own HEALTHCHECK failed${said === '' ? '' : ` (${said})`}`;
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

/** The swarm ended it, failed to begin it, or lost it with its node: that says nothing about the application. */
export function isTakenAway(task: SwarmTask, view: SwarmView): boolean {
  const { State: state, Err: error = '' } = task.Status;
  return state === 'shutdown' || error.includes(NOT_ATTACHED) || (view.isLost(task) && !hasEnded(task));
}
