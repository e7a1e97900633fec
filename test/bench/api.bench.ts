import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createService } from '../support/deployments.js';
import { DIST, type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { processorMs } from '../support/processor-time.js';
import { load, requestText, type Served } from './load.js';
import { median, print } from './measure.js';
import { record } from './table.js';

const ROUNDS = 7;
const SECONDS = 2;
const READERS = 16;
const WRITERS = 8;
const UNLIMITED = { RATE_LIMIT_READS_PER_MINUTE: '1000000', RATE_LIMIT_WRITES_PER_MINUTE: '1000000' };

/** Measures GET and PATCH of a service, in turns with Koa and pg. The median ratio of the rounds counts. */
export async function benchApi(engine: EngineName): Promise<void> {
  const platform = await startPlatform({ engine, workers: 0, env: { ...UNLIMITED, LOG_LEVEL: 'info' } });
  const bare = await startBare(platform);
  try {
    const service = await createService(platform.client, {
      name: 'bench',
      configuration: { repository: 'https://example.test/owner/name.git' },
    });
    const path = `/api/v1/workspaces/${platform.client.workspaceId}/services/${service.id}`;
    const headers = { Authorization: `Bearer ${platform.client.key}` };
    const ours = { port: platform.apiPort, seconds: SECONDS };
    const theirs = { port: bare.port, seconds: SECONDS };
    const api = platform.processes.find(({ name }) => name === 'api')?.child.pid ?? 0;
    const processes = { ours: api, bare: bare.child.pid ?? 0 };
    let round = 0;
    const patch = (keyed: boolean) => () =>
      requestText(
        'PATCH',
        path,
        { ...headers, ...(keyed ? { 'Idempotency-Key': randomUUID() } : {}) },
        JSON.stringify({ configuration: { description: `change ${round++}` } }),
      );
    const get = requestText('GET', path, headers);
    await compare(
      'GET of one service, 16 connections',
      'get',
      processes,
      () => load({ ...ours, connections: READERS, request: () => get }),
      () => load({ ...theirs, connections: READERS, request: () => requestText('GET', `/${service.id}`) }),
    );
    for (const keyed of [false, true]) {
      await compare(
        `PATCH of one service, 8 connections, ${keyed ? 'a key each' : 'without keys'}`,
        keyed ? 'keyedPatch' : 'patch',
        processes,
        () => load({ ...ours, connections: WRITERS, request: patch(keyed) }),
        () => load({ ...theirs, connections: WRITERS, request: () => requestText('PATCH', `/${service.id}`) }),
      );
    }
  } finally {
    bare.child.kill();
    await platform.stop();
  }
}

type Measured = Served & {
  cpu: number;
};

async function compare(
  name: string,
  figure: 'get' | 'patch' | 'keyedPatch',
  processes: { ours: number; bare: number },
  ours: () => Promise<Served>,
  bare: () => Promise<Served>,
): Promise<void> {
  const rounds: { ours: Measured; bare: Measured }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    rounds.push({ bare: await withCpu(processes.bare, bare), ours: await withCpu(processes.ours, ours) });
  }
  rounds.shift();
  const of = (figure: (round: { ours: Measured; bare: Measured }) => number) => median(rounds.map(figure));
  const [rate, bareRate] = [of(({ ours }) => ours.perSecond), of(({ bare }) => bare.perSecond)];
  const reference = `${rate.toFixed(0)} of ${bareRate.toFixed(0)}/s`;
  if (figure === 'get')
    record(
      'get',
      of(({ ours, bare }) => ours.perSecond / bare.perSecond),
      reference,
    );
  else record(figure, rate, `bare ${bareRate.toFixed(0)}/s`);
  print(
    `  ${name}: ${of(({ ours }) => ours.perSecond).toFixed(0)}/s (p50 ${of(({ ours }) => ours.p50).toFixed(1)},` +
      ` p99 ${of(({ ours }) => ours.p99).toFixed(1)} ms), bare ${of(({ bare }) => bare.perSecond).toFixed(0)}/s,` +
      ` ratio ${of(({ ours, bare }) => ours.perSecond / bare.perSecond).toFixed(2)};` +
      ` processor ${of(({ ours }) => ours.cpu).toFixed(0)} µs a request, bare ${of(({ bare }) => bare.cpu).toFixed(0)} µs`,
  );
}

async function withCpu(pid: number, work: () => Promise<Served>): Promise<Measured> {
  const begun = await processorMs(pid);
  const at = performance.now();
  const served = await work();
  const requests = served.perSecond * ((performance.now() - at) / 1000);
  return { ...served, cpu: (((await processorMs(pid)) - begun) * 1000) / requests };
}

async function startBare(platform: Platform): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [join(DIST, 'test/bench/bare-server.js')], {
    env: { ...process.env, DATABASE_URL: platform.database.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  return { child, port: Number(port) };
}
