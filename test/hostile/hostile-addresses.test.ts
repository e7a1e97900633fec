import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { expect } from 'chai';
import { createService, type Deployment, ended } from '../support/deployments.js';
import { type Platform, startPlatform } from '../support/platform.js';

const LIMIT_MS = 300_000;

describe('Repositories at internal addresses', function () {
  this.timeout(LIMIT_MS);
  let platform: Platform;
  let requests = 0;
  const inner = createServer((_, response) => {
    requests += 1;
    response.end('internal');
  });
  let port = 0;

  before(async () => {
    platform = await startPlatform({ engine: 'postgres', env: { ALLOW_LOCAL_REPOSITORIES: 'false' } });
    await new Promise<void>((resolve) => inner.listen(0, () => resolve()));
    port = (inner.address() as { port: number }).port;
  });
  after(async () => {
    inner.close();
    await platform?.stop();
  });

  it('are refused in every spelling, and never asked', async () => {
    const hosts = [
      ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0177.0.0.1', '017700000001', '0', '0.0.0.0'],
      ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:0:0:1]', '[64:ff9b::7f00:1]'],
      ...[
        'localhost',
        'LOCALHOST',
        'localhost.',
        'x.localhost',
        '127.0.0.1.',
        '１２７.0.0.1',
        '169.254.169.254',
        '10.0.0.1',
      ],
      // Only the resolver knows that this name is one of ours.
      hostname(),
      'user:password@127.0.0.1',
    ];
    for (const host of hosts) {
      const address = `http://${host}:${port}/x.git`;
      const made = await createService(platform.client, { name: 'internal', configuration: { repository: address } });
      const answer = await platform.client.call<{ deployment?: Deployment; error?: { code: string } }>(
        'POST',
        `/services/${made.id}/deploys`,
        {},
      );
      if (answer.body.deployment) {
        const deployment = await ended(platform.client, made.id, answer.body.deployment.id);
        expect(deployment.status, host).to.equal('failed');
        expect(deployment.error, host).to.contain('ALLOW_LOCAL_REPOSITORIES');
      } else expect(answer.body.error?.code, host).to.equal('source_invalid');
    }
    const file = await createService(platform.client, { name: 'file', configuration: { repository: 'file:///etc' } });
    expect((await platform.client.call('POST', `/services/${file.id}/deploys`, {})).status).to.equal(400);
    expect(requests).to.equal(0);
  });
});
