import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaddyEdge } from '../../../workers/edge/caddy/caddy-edge.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../../support/caddy.js';
import { freePorts } from '../../support/processes.js';
import { describeEdge } from './contract.js';
import type { EdgeKind } from './support.js';

describeCaddy('through Caddy', () => {
  let caddy: TestCaddy;
  let socketDir: string;
  before(async () => {
    caddy = await startCaddy();
    socketDir = await mkdtemp(join(tmpdir(), 'ranvier-edge-'));
  });
  after(async () => {
    await caddy.stop();
    await rm(socketDir, { recursive: true, force: true });
  });

  const caddyKind: EdgeKind = {
    name: 'Caddy edge',
    swaps: 200,
    async create(options) {
      const [port = 0] = await freePorts(1);
      const edge = { port, domain: 'test', adminUrl: caddy.adminUrl, socketDir, tls: null };
      return Object.assign(new CaddyEdge({ ...edge, ...options }), { port });
    },
  };
  describeEdge(caddyKind);
});
