import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminApi } from '../../workers/edge/caddy/admin-api.js';
import { freePorts, PlatformProcess } from './processes.js';

export const hasCaddy = spawnSync('caddy', ['version']).status === 0;

export interface TestCaddy {
  adminUrl: string;
  readonly pid: number;
  /** Kills Caddy and starts it with its first configuration, without what the edge has loaded since. */
  restart(): Promise<void>;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a new Caddy. Its admin API is on a Unix socket that only this user can open, or on a free port. */
export async function startCaddy(
  apps: Record<string, unknown> = {},
  admin: 'socket' | 'port' = 'socket',
): Promise<TestCaddy> {
  const [port = 0] = await freePorts(1);
  const dir = await mkdtemp(join(tmpdir(), 'ranvier-caddy-'));
  const socket = join(dir, 'admin.sock');
  const adminUrl = admin === 'port' ? `http://127.0.0.1:${port}` : `unix://${socket}`;
  const api = new AdminApi(adminUrl);
  const config = {
    admin: { listen: admin === 'port' ? `127.0.0.1:${port}` : `unix/${socket}`, config: { persist: false } },
    storage: { module: 'file_system', root: join(dir, 'storage') },
    logging: { logs: { default: { level: 'WARN' } } },
    ...(Object.keys(apps).length > 0 ? { apps } : {}),
  };
  const file = join(dir, 'caddy.json');
  await writeFile(file, JSON.stringify(config));
  const start = async () => {
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: dir };
    const started = new PlatformProcess('caddy', 'caddy', ['run', '--config', file], env);
    await started.ready(async () => (await api.config()).value !== null);
    return started;
  };
  let caddy = await start();
  return {
    adminUrl,
    get pid() {
      return caddy.child.pid ?? 0;
    },
    async restart() {
      await caddy.stop('SIGKILL');
      caddy = await start();
    },
    async kill() {
      await caddy.stop('SIGKILL');
    },
    async stop() {
      await caddy.stop('SIGKILL');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Describes tests with a real Caddy, which are skipped if Caddy is not installed. */
export function describeCaddy(title: string, tests: () => void): void {
  const suite = hasCaddy ? describe : describe.skip;
  suite(`${title}${hasCaddy ? '' : ': caddy is not installed'}`, function () {
    // Long, because a busy machine delays everything and no test here measures time.
    this.timeout(240_000);
    tests();
  });
}
