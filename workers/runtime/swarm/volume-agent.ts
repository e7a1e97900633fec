import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { endChild, SYSTEM_PATH, spawnLimited } from '../../../shared/core/limited-child.js';
import { quote } from '../../core/quote.js';
import { discardTree } from '../../core/remove-folders.js';
import { DATA, type VolumeFiles } from '../../data/data-host.js';
import { unlessGone } from '../../docker/docker-engine.js';
import { ReleaseError } from '../../failures/explained-errors.js';
import { type AgentAddress, callAgent } from './agent-call.js';
import { AGENT_PORT } from './agent-script.js';
import { markerOf, VOLUME } from './server-scripts.js';
import { agentService, type DataRelease } from './server-service.js';
import type { CommandDeps } from './swarm-command.js';
import { createService, removeService } from './swarm-services.js';
import { hasEnded, publishedPort, type SwarmNode, type SwarmTask, SwarmView } from './swarm-view.js';

const POLL_MS = 250;
/** Backups are checked in this folder of DATA_DIR before they are sent to a node. */
export const RESTORES = 'restores';
const SYNC = '(sync -f . 2>/dev/null || sync)';

/** Opens a volume through a task on its node. Throws `ReleaseError` if the task does not start in time. */
export async function openRemoteVolume(deps: CommandDeps, spec: DataRelease, node: SwarmNode): Promise<VolumeFiles> {
  const name = `agent-${spec.serviceId}`;
  const remove = async () => {
    const service = await unlessGone(deps.engine.calls.getService(name).inspect());
    if (service) await removeService(deps, service.ID);
  };
  // A dead worker may have left a task. No live worker uses it, because the volume is reserved for this operation.
  await remove();
  const token = randomBytes(24).toString('hex');
  await createService(deps, spec, (context) => agentService(spec, name, { nodeId: node.ID, token }, context));
  try {
    const address = { ...(await placeOf(deps, name, node)), token };
    return remoteVolume(deps, spec.serviceId, address, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

async function placeOf(
  { engine, config }: CommandDeps,
  name: string,
  node: SwarmNode,
): Promise<Pick<AgentAddress, 'host' | 'port'>> {
  const deadline = Date.now() + config.releaseTimeoutSeconds * 1000;
  for (;;) {
    const [task] = (await engine.calls.listTasks({ filters: { service: [name] } })) as SwarmTask[];
    const port = task?.Status.State === 'running' ? publishedPort(task, AGENT_PORT) : undefined;
    const host = task && new SwarmView([], [], [node]).addressOf(task);
    if (port !== undefined && host !== undefined) return { host, port };
    if ((task && hasEnded(task)) || Date.now() >= deadline) {
      const reason = task?.Status.Err || task?.Status.Message || 'the swarm made no task of it';
      throw new ReleaseError(
        `the task that works on its volume does not run on ${node.Description.Hostname}: ${reason}`,
      );
    }
    await sleep(POLL_MS);
  }
}

function remoteVolume(
  { config, log }: CommandDeps,
  serviceId: string,
  address: AgentAddress,
  remove: () => Promise<void>,
): VolumeFiles {
  /** Retries while the connection is refused, because a newly started agent may not listen yet. */
  const run = async (command: string, signal = new AbortController().signal, input?: Readable): Promise<string> => {
    const deadline = Date.now() + config.releaseTimeoutSeconds * 1000;
    for (;;) {
      try {
        return await callAgent(address, `cd ${VOLUME} && ${command}`, { ...(input ? { input } : {}), signal });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED' || Date.now() >= deadline) throw error;
        await sleep(POLL_MS, undefined, { signal });
      }
    }
  };
  const stagingOf = (name: string) => join(config.dataDir, RESTORES, name);
  return {
    async names() {
      return (await run('ls -1A')).split('\n').filter((name) => name !== '');
    },
    async rename(from, to) {
      await run(`[ ! -e ${quote(to)} ] && mv ${quote(from)} ${quote(to)} && ${SYNC}`);
    },
    async remove(name) {
      await run(`rm -rf ${quote(name)}`);
    },
    async writeMarker() {
      const marker = quote(markerOf(serviceId));
      await run(`printf '%s\\n' ${marker} >ranvier.new && mv ranvier.new ranvier.json && ${SYNC}`);
    },
    stagingOf,
    async adopt(name, signal) {
      const staging = stagingOf(name);
      const archive = spawnLimited(['tar', '-C', staging, '-cf', '-', DATA], {
        env: { PATH: SYSTEM_PATH },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = new Promise<number | null>((resolve) => {
        archive.once('error', () => resolve(null));
        archive.once('close', resolve);
      });
      try {
        const unpack = `mkdir ${quote(name)} && tar -C ${quote(name)} -xpf - && ${SYNC}`;
        await run(unpack, signal, archive.stdout ?? undefined);
        const code = await ended;
        if (code !== 0) throw new Error(`the checked copy cannot be read (tar: exit code ${code})`);
      } finally {
        endChild(archive);
      }
      await discardTree({ dataDir: config.dataDir, log }, staging);
    },
    close: remove,
  };
}
