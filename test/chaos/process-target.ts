import { join } from 'node:path';
import { markedProcesses } from '../../workers/sandbox/process-table.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import type { PlatformProcess } from '../support/processes.js';
import { type ChaosTarget, leftBuildFolders, ownedReplicas, PATIENCE, SERVER } from './chaos-target.js';
import { afterSweeps, type Entry, listFolder } from './entries.js';
import { networkEntries } from './network-entries.js';

/** A target on one host, where applications are processes. */
export class ProcessTarget implements ChaosTarget {
  readonly platform: Platform;
  readonly app = {
    ...SERVER,
    Procfile: 'web: node server.js\n',
    'package.json': '{"name":"app","version":"1.0.0","private":true}',
  };
  readonly configuration = {};
  readonly faults = [];

  private constructor(platform: Platform) {
    this.platform = platform;
  }

  static async start(engine: EngineName, settings: Record<string, string>): Promise<ProcessTarget> {
    return new ProcessTarget(await startPlatform({ engine, workers: 0, env: { ...PATIENCE, ...settings } }));
  }

  startWorker(): Promise<PlatformProcess> {
    return this.platform.startWorker();
  }

  excuses(): boolean {
    return false;
  }

  async books(): Promise<Entry[]> {
    const { dataDir } = this.platform;
    return [
      await leftBuildFolders([dataDir]),
      await afterSweeps('folders that no replica owns', async () => {
        const ids = await ownedReplicas(this.platform);
        const folders = await listFolder(join(dataDir, 'replicas'));
        return { counted: folders.length, wrong: folders.filter((name) => !ids.includes(name)) };
      }),
      await networkEntries(this.platform),
      await afterSweeps('processes that no replica owns', async () => {
        const ids = await ownedReplicas(this.platform);
        const marks = [...(await markedProcesses(await this.platform.sandboxToken()))];
        const stray = marks.filter(([, mark]) => !ids.some((id) => mark.includes(id)));
        return { counted: marks.length, wrong: stray.map(([pid, mark]) => `${pid} ${mark}`) };
      }),
    ];
  }

  stop(): Promise<void> {
    return this.platform.stop();
  }
}
