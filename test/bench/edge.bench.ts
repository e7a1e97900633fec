import { hasCaddy, startCaddy } from '../support/caddy.js';
import { createService, deploy } from '../support/deployments.js';
import { type EngineName, startPlatform } from '../support/platform.js';
import { freePorts } from '../support/processes.js';
import { processorMs } from '../support/processor-time.js';
import { createPlatformRepository } from '../support/repositories.js';
import { load, requestText, type Served } from './load.js';
import { median, print } from './measure.js';
import { record } from './table.js';

const ROUNDS = 7;
const SECONDS = 2;
const CONNECTIONS = 16;

const APPLICATION = {
  Procfile: 'web: node server.js\n',
  'package.json': '{"name":"small","version":"1.0.0","private":true}',
  'server.js': `const body = 'x'.repeat(1024);
    require('node:http').createServer((request, response) => {
      response.setHeader('Content-Length', body.length);
      response.end(body);
    }).listen(process.env.PORT);`,
};

interface Round extends Served {
  processorUs: number;
}

/** Compares requests per second to one application through the edge and through Caddy. */
export async function benchEdge(engine: EngineName): Promise<void> {
  if (!hasCaddy) return print('  SKIPPED: caddy is not installed');
  const platform = await startPlatform({ engine });
  const repository = await createPlatformRepository(APPLICATION);
  const [port = 0] = await freePorts(1);
  try {
    const configuration = { repository: repository.url };
    const service = await createService(platform.client, { name: 'small', configuration });
    await deploy(platform.client, service.id);
    const { db } = platform.database;
    const replica = await db('replicas').where({ service_id: service.id, state: 'ready' }).first('address', 'port');
    const dial = `${replica.address}:${replica.port}`;
    const handle = [{ handler: 'reverse_proxy', upstreams: [{ dial }] }];
    const caddy = await startCaddy({ http: { servers: { bench: { listen: [`:${port}`], routes: [{ handle }] } } } });
    try {
      const request = requestText('GET', '/', { Host: new URL(service.url).host });
      const edge = platform.processes.find(({ name }) => name === 'edge')?.child.pid ?? 0;
      const through = async (at: number, pid: number): Promise<Round> => {
        const before = await processorMs(pid);
        const served = await load({ port: at, request: () => request, connections: CONNECTIONS, seconds: SECONDS });
        const usedMs = (await processorMs(pid)) - before;
        return { ...served, processorUs: (usedMs * 1_000) / (served.perSecond * SECONDS) };
      };
      const rounds: { ours: Round; caddy: Round }[] = [];
      for (let round = 0; round <= ROUNDS; round++) {
        rounds.push({ caddy: await through(port, caddy.pid), ours: await through(platform.edgePort, edge) });
      }
      // The first round is a warm-up.
      rounds.shift();
      const of = (who: 'ours' | 'caddy') => median(rounds.map((round) => round[who].perSecond)).toFixed(0);
      const ratio = median(rounds.map(({ ours, caddy }) => ours.perSecond / caddy.perSecond));
      const us = (who: 'ours' | 'caddy') => median(rounds.map((round) => round[who].processorUs)).toFixed(0);
      record('edge', ratio, `${of('ours')} of ${of('caddy')}/s`);
      print(`  edge: ${of('ours')}/s, Caddy: ${of('caddy')}/s, ratio ${ratio.toFixed(2)}`);
      print(`  processor time of a request: edge ${us('ours')} µs, Caddy ${us('caddy')} µs`);
    } finally {
      await caddy.stop();
    }
  } finally {
    await platform.stop();
    await repository.remove();
  }
}
