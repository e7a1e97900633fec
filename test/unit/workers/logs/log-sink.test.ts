import { expect } from 'chai';
import type { Db } from '../../../../shared/core/database/database-client.js';
import { LogSink } from '../../../../workers/logs/log-sink.js';
import { Masker } from '../../../../workers/masking/masker.js';

describe('The log of a deployment', () => {
  it('lets its writers wait for the database as long as a full batch is not stored', async () => {
    const sink = new LogSink({} as Db, { wakeLogs: () => undefined });
    const channel = sink.open({ serviceId: 's', deploymentId: 'd', masker: new Masker([]) });
    const stored = (message: string) =>
      channel.write('build', message).then(
        () => true,
        () => false,
      );
    expect(await stored('x'.repeat(300_000))).to.equal(false);
    expect(await stored('y'), 'the batch is still full').to.equal(false);
  });
});
