import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { makeCertificates, NO_OPENSSL } from './certificates.js';
import { freePorts, PlatformProcess } from './processes.js';

export const NO_PEBBLE = spawnSync('pebble', ['-version']).error === undefined ? NO_OPENSSL : 'pebble is not installed';

export interface Authority {
  url: string;
  root: string;
  stop(): Promise<void>;
}

/** Starts an ACME server (Pebble). It asks this name server, and validates at this port instead of 443. */
export async function startAuthority(nameServer: string, tlsPort: number): Promise<Authority> {
  const [port = 0, management = 0, httpPort = 0] = await freePorts(3);
  const folder = await mkdtemp(join(tmpdir(), 'ranvier-pebble-'));
  await makeCertificates(folder, '127.0.0.1');
  const root = join(folder, 'ca.pem');
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate: join(folder, 'server-cert.pem'),
    privateKey: join(folder, 'server-key.pem'),
    httpPort,
    tlsPort,
  };
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify({ pebble: config }));
  // By default Pebble delays validations and rejects some requests, to test whether clients retry.
  const env = { PATH: process.env.PATH ?? '', PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' };
  const pebble = new PlatformProcess('pebble', 'pebble', ['-config', file, '-dnsserver', nameServer], env);
  const url = `https://127.0.0.1:${port}/dir`;
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  await pebble.ready(async () => (await request(url, { dispatcher }).catch(() => null))?.statusCode === 200);
  return {
    url,
    root,
    async stop() {
      await dispatcher.close();
      await pebble.stop('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
