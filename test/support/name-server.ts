import { spawnSync } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { freePorts, PlatformProcess } from './processes.js';

export const NO_DNSMASQ = spawnSync('dnsmasq', ['--version']).status === 0 ? '' : 'dnsmasq is not installed';

export interface NameServer {
  address: string;
  /** Replaces the records. All other names below `test` do not exist. */
  serve(records: { texts?: Record<string, string>; hosts?: Record<string, string> }): Promise<void>;
  stop(): Promise<void>;
}

const READY = 'ready.test';

/** Starts a real name server (dnsmasq) for names below `test`. */
export async function startNameServer(): Promise<NameServer> {
  const [port = 0] = await freePorts(1);
  let running: PlatformProcess | null = null;
  const server: NameServer = {
    address: `127.0.0.1:${port}`,
    async serve({ texts = {}, hosts = {} }) {
      await running?.stop('SIGKILL');
      const records = [
        ...Object.entries(texts).map(([name, text]) => `--txt-record=${name},${text}`),
        ...Object.entries({ ...hosts, [READY]: '127.0.0.1' }).map(([name, ip]) => `--host-record=${name},${ip}`),
      ];
      const options = ['--keep-in-foreground', '--no-resolv', '--no-hosts', '--local=/test/', '--user=root'];
      const listen = [
        '--bind-interfaces',
        '--listen-address=127.0.0.1',
        `--port=${port}`,
        '--pid-file',
        '--conf-file=/dev/null',
      ];
      running = new PlatformProcess('dnsmasq', 'dnsmasq', [...options, ...listen, ...records], {
        PATH: process.env.PATH ?? '',
      });
      const resolver = new Resolver({ timeout: 500, tries: 1 });
      resolver.setServers([server.address]);
      await running.ready(async () => (await resolver.resolve4(READY).catch(() => [])).length > 0);
    },
    async stop() {
      await running?.stop('SIGKILL');
    },
  };
  await server.serve({});
  return server;
}
