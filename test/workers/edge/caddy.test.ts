import { CaddyEdge } from '../../../workers/edge/caddy/caddy-edge.js';
import { hasCaddy, startCaddy, type TestCaddy } from '../../support/caddy.js';
import { freePorts } from '../../support/processes.js';
import { describeEdge } from './contract.js';
import type { EdgeKind } from './support.js';

(hasCaddy ? describe : describe.skip)(`through Caddy${hasCaddy ? '' : ': caddy is not installed'}`, function () {
  this.timeout(120_000);
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
      return Object.assign(new CaddyEdge({ port, domain: 'test', adminUrl: caddy.adminUrl, ...options }), { port });
    },
  };
  describeEdge(caddyKind);
});
