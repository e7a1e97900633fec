import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Credentials } from '../../shared/launcher/credentials.js';
import { labelOf } from '../../shared/launcher/leftover-processes.js';
import { eventually, freePorts, PlatformProcess } from './processes.js';

const LAUNCH = fileURLToPath(new URL('../../shared/launcher/launch.js', import.meta.url));

/** Stands for the API. It is ready at once, answers with its settings, and takes a moment to end. */
const API = `
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
const { PORT, DATABASE_URL, SECRETS_KEY, ALLOW_LOCAL_REPOSITORIES, DASHBOARD_USER, DASHBOARD_PASSWORD } = process.env;
const settings = { pid: process.pid, DATABASE_URL, SECRETS_KEY, ALLOW_LOCAL_REPOSITORIES, DASHBOARD_USER, DASHBOARD_PASSWORD };
createServer((request, response) => response.end(JSON.stringify(settings))).listen(PORT);
process.on('SIGINT', () => setTimeout(() => { writeFileSync('drained', ''); process.exit(0); }, 200));
`;

/** A folder in which `npm start` runs small programs instead of the platform's processes. */
export class LauncherBench {
  readonly folder: string;
  readonly dataDir: string;
  readonly ports: { api: number; edge: number };
  readonly #running: PlatformProcess[] = [];

  private constructor(folder: string, ports: { api: number; edge: number }) {
    this.folder = folder;
    this.dataDir = join(folder, 'data');
    this.ports = ports;
  }

  static async create(procfile = 'api: node api.mjs\nworker: sleep 1000\n'): Promise<LauncherBench> {
    const folder = await mkdtemp(join(tmpdir(), 'ranvier-launch-'));
    await chmod(folder, 0o755);
    await writeFile(join(folder, 'api.mjs'), API);
    await writeFile(join(folder, 'Procfile'), procfile);
    const [api = 0, edge = 0] = await freePorts(2);
    return new LauncherBench(folder, { api, edge });
  }

  launch(settings: Record<string, string> = {}): PlatformProcess {
    const launcher = new PlatformProcess('launch', process.execPath, [LAUNCH, join(this.folder, 'Procfile')], {
      PATH: process.env.PATH ?? '',
      PORT: String(this.ports.api),
      EDGE_PORT: String(this.ports.edge),
      DATA_DIR: this.dataDir,
      ...settings,
    });
    this.#running.push(launcher);
    return launcher;
  }

  async launchReady(settings: Record<string, string> = {}): Promise<PlatformProcess> {
    const launcher = this.launch(settings);
    await launcher.ready(async () => launcher.output.includes('Ranvier is ready'));
    return launcher;
  }

  async credentials(): Promise<Credentials> {
    return JSON.parse(await readFile(join(this.dataDir, 'credentials.json'), 'utf8'));
  }

  async apiSettings(port = this.ports.api): Promise<Record<string, string> & { pid: number }> {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    return (await response.json()) as Record<string, string> & { pid: number };
  }

  async processes(): Promise<string[]> {
    const marks = [this.dataDir, await labelOf(this.dataDir), await labelOf(join(this.dataDir, 'postgres'))];
    const found: string[] = [];
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => '');
      const text = `${await read('cmdline')}\n${await read('environ')}`;
      if (marks.some((mark) => text.includes(mark)))
        found.push(`${pid} ${(await read('cmdline')).replaceAll('\0', ' ')}`);
    }
    return found;
  }

  async nothingLeft(): Promise<void> {
    await eventually('every process has ended', async () => {
      const left = await this.processes();
      if (left.length > 0) throw new Error(left.join('\n'));
      return true;
    });
  }

  async end(): Promise<void> {
    for (const launcher of this.#running.splice(0)) await launcher.stop();
    await rm(join(this.folder, 'drained'), { force: true });
  }

  async remove(): Promise<void> {
    await this.end();
    await rm(this.folder, { recursive: true, force: true });
  }
}
