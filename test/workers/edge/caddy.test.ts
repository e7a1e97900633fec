import { CaddyEdge } from '../../../workers/edge/caddy/caddy-edge.js';
import { describeCaddy, startCaddy, type TestCaddy } from '../../support/caddy.js';
import { freePorts } from '../../support/processes.js';
import { describeEdge } from './contract.js';
import type { EdgeKind } from './support.js';

describeCaddy('through Caddy', () => {
  let caddy: TestCaddy;
  before(async () => {
    caddy = await startCaddy();
  });
  after(() => caddy.stop());

  const caddyKind: EdgeKind = {
    name: 'Caddy edge',
    swaps: 40,
    async create(options) {
      const [port = 0] = await freePorts(1);
      return Object.assign(new CaddyEdge({ port, domain: 'test', adminUrl: caddy.adminUrl, tls: null, ...options }), {
        port,
      });
    },
  };
  describeEdge(caddyKind);
});
