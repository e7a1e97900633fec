import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { JOBS_CHANNEL, JobTurns, type ListenClient, turnMs } from '../../../../shared/queues/job-turns.js';
import { eventually } from '../../../support/processes.js';

/** The listening connection, as far as turns use it. `hasJob` answers whether a queue has a job. */
const connection = (hasJob: (queue: string) => Promise<boolean>) => {
  const query = async (_: string, [queue]: string[]) => ({ rows: [{ present: await hasJob(queue ?? '') }] });
  return Object.assign(new EventEmitter(), { query }) as unknown as ListenClient & EventEmitter;
};

describe('The turn of a worker to ask for a job', () => {
  it('comes at once in a small fleet, and is spread over a longer time in a larger one', () => {
    expect(turnMs(1, 0.9)).to.equal(0);
    expect(turnMs(4, 0.9)).to.equal(0);
    expect(turnMs(100, 0)).to.equal(0);
    expect(turnMs(100, 0.5)).to.equal(1000);
    expect(turnMs(1000, 0.5)).to.equal(10_000);
  });

  it('is shared by the jobs of a queue, and does not come if another worker has taken them', async () => {
    const asked: string[] = [];
    let present = false;
    const turns = new JobTurns();
    turns.shareWith(5);
    const client = connection(async (queue) => {
      asked.push(queue);
      return present;
    });
    const heard: string[] = [];
    turns.of(client).on('notification', ({ payload }) => heard.push(payload ?? ''));
    expect(turns.of(client), 'one client for one connection').to.equal(turns.of(client));
    for (let i = 0; i < 10; i++) client.emit('notification', { channel: JOBS_CHANNEL, payload: 'deploy' });
    await eventually('the queue was asked', () => asked.length > 0);
    expect(asked).to.deep.equal(['deploy']);
    expect(heard).to.deep.equal([]);
    present = true;
    client.emit('notification', { channel: JOBS_CHANNEL, payload: 'run' });
    await eventually('the worker was told', () => heard.length > 0);
    expect(heard).to.deep.equal(['run']);
    turns.close();
  });

  it('tells a worker if the queue cannot be asked, and tells everything else at once', async () => {
    const turns = new JobTurns();
    turns.shareWith(5);
    const client = connection(() => Promise.reject(new Error('no connection')));
    const heard: string[] = [];
    turns.of(client).on('notification', ({ channel }) => heard.push(channel));
    client.emit('notification', { channel: 'bullmq_events', payload: 'deploy' });
    expect(heard).to.deep.equal(['bullmq_events']);
    client.emit('notification', { channel: JOBS_CHANNEL, payload: 'deploy' });
    await eventually('the worker was told', () => heard.length === 2);
    turns.close();
  });
});
