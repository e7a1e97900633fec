import { expect } from 'chai';
import type { LogSource } from '../../shared/logs/model.js';
import { insertLogBatches } from '../../workers/logs/batch-store.js';
import { ingestLogs } from '../../workers/logs/ingest-batches.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { newDeployment } from '../support/records.js';

describe('Logs', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path);
    path = `${workspace.path}/services/${service.id}/logs`;
  });

  async function write(
    messages: string[],
    {
      source = 'runtime',
      deploymentId = null,
      hoursAgo = 0,
    }: { source?: LogSource; deploymentId?: string | null; hoursAgo?: number } = {},
  ): Promise<void> {
    const timestamp = new Date(Date.now() - hoursAgo * 3_600_000).toISOString();
    const lines = messages.map((message) => ({ level: 'info' as const, message, timestamp }));
    await insertLogBatches(api.db, [{ serviceId: service.id, deploymentId, source, lines }]);
    await ingestLogs(api.db, service.id);
  }

  async function messages(query = ''): Promise<string[]> {
    const { body } = await workspace.owner.reader.get(`${path}${query}`);
    return body.items.map((item: Json) => item.message);
  }

  it('of a service that wrote nothing are an empty batch with cursor 0', async () => {
    const { body } = await workspace.owner.reader.get(path);
    expect(body).to.deep.equal({ available: true, cursor: 0, hasMore: false, items: [], limit: 500 });
  });

  it('without after are the newest batch, in ascending order of id', async () => {
    await write(['a', 'b', 'c', 'd']);
    const { body } = await workspace.owner.reader.get(`${path}?limit=2`);
    expect(body.items.map((item: Json) => [item.id, item.message])).to.deep.equal([
      [3, 'c'],
      [4, 'd'],
    ]);
    expect(body).to.include({ cursor: 4, limit: 2 });
    expect(body.items[0]).to.include({ level: 'info', source: 'runtime' });
  });

  it('with after are the later lines; the cursor leads from batch to batch without a gap', async () => {
    await write(['a', 'b', 'c', 'd', 'e']);
    const seen: string[] = [];
    let cursor = 0;
    for (let more = true; more; ) {
      const { body } = await workspace.owner.reader.get(`${path}?after=${cursor}&limit=2`);
      seen.push(...body.items.map((item: Json) => item.message));
      cursor = body.cursor;
      more = body.hasMore;
    }
    expect(seen).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
    const idle = await workspace.owner.reader.get(`${path}?after=${cursor}`);
    expect(idle.body).to.deep.include({ items: [], cursor: 5, hasMore: false });
    await write(['f']);
    expect(await messages(`?after=${cursor}`)).to.deep.equal(['f']);
  });

  it('with before are the newest of the earlier lines', async () => {
    await write(['a', 'b', 'c', 'd']);
    expect(await messages('?before=4&limit=2')).to.deep.equal(['b', 'c']);
    expect(await messages('?before=1')).to.deep.equal([]);
    expect(await messages('?before=4&search=A')).to.deep.equal(['a']);
    expectError(await workspace.owner.reader.get(`${path}?before=4&after=1`), 400, 'invalid_request');
  });

  it('that are long come in answers of bounded size, without a gap', async () => {
    await write(Array.from({ length: 600 }, () => '\ufffd'.repeat(16_384)));
    const seen: number[] = [];
    for (let cursor = 0, more = true; more; ) {
      const { body } = await workspace.owner.reader.get(`${path}?after=${cursor}`);
      expect(JSON.stringify(body).length).to.be.below(2 * 1024 * 1024);
      seen.push(...body.items.map((item: Json) => item.id));
      ({ cursor, hasMore: more } = body);
    }
    expect(seen).to.deep.equal(Array.from({ length: 600 }, (_, i) => i + 1));
    const { body } = await workspace.owner.reader.get(path);
    expect(body.items.at(-1).id).to.equal(600);
    expect(body.items.length).to.be.within(1, 100);
  });

  it('come in batches of at most 500 lines, 500 by default', async () => {
    await write(Array.from({ length: 501 }, (_, index) => String(index)));
    for (const query of ['', '?limit=500']) {
      const { body } = await workspace.owner.reader.get(`${path}${query}`);
      expect(body).to.include({ limit: 500, cursor: 501 });
      expect(body.items).to.have.length(500);
    }
    const { body } = await workspace.owner.reader.get(`${path}?after=0`);
    expect(body).to.include({ cursor: 500, hasMore: true });
    expect((await workspace.owner.reader.get(`${path}?search=${'x'.repeat(200)}`)).status).to.equal(200);
  });

  it('of many writers at once have no gap for a reader that follows the cursor meanwhile', async () => {
    const writers = 6;
    const batches = 8;
    let writing = true;
    const written = Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let batch = 0; batch < batches; batch++) await write([`${writer}-${batch}-a`, `${writer}-${batch}-b`]);
      }),
    ).finally(() => {
      writing = false;
    });
    const seen: Json[] = [];
    for (let cursor = 0, last = false; !last; ) {
      last = !writing;
      const { body } = await workspace.owner.reader.get(`${path}?after=${cursor}&limit=5`);
      seen.push(...body.items);
      cursor = body.cursor;
      last &&= !body.hasMore;
    }
    await written;
    expect(seen.map(({ id }) => id)).to.deep.equal(
      Array.from({ length: writers * batches * 2 }, (_, index) => index + 1),
    );
    expect(new Set(seen.map(({ message }) => message)).size).to.equal(writers * batches * 2);
  });

  it('are filtered by deployment, source and a part of the message in any case', async () => {
    const deploymentId = await newDeployment(api.db, service.id);
    await write(['Compiling'], { source: 'build', deploymentId });
    await write(['ready at 100%', 'under_score', 'back\\slash']);
    expect(await messages(`?deploymentId=${deploymentId}`)).to.deep.equal(['Compiling']);
    expect(await messages('?source=build')).to.deep.equal(['Compiling']);
    expect(await messages('?search=COMPIL')).to.deep.equal(['Compiling']);
    expect(await messages('?search=0%25')).to.deep.equal(['ready at 100%']);
    expect(await messages('?search=%25')).to.deep.equal(['ready at 100%']);
    expect(await messages('?search=_')).to.deep.equal(['under_score']);
    expect(await messages('?search=%5C')).to.deep.equal(['back\\slash']);
    expect(await messages('?source=system')).to.deep.equal([]);
  });

  it('leave out previews without includePreviewLogs, unless the deployment is asked for', async () => {
    const own = await newDeployment(api.db, service.id, { branch: 'main' });
    const preview = await newDeployment(api.db, service.id, { branch: 'feature' });
    await write(['of main'], { deploymentId: own });
    await write(['of feature'], { deploymentId: preview });
    await write(['of none']);
    expect(await messages()).to.deep.equal(['of main', 'of feature', 'of none']);
    await workspace.owner.client.patch(workspace.path, { configuration: { includePreviewLogs: false } });
    expect(await messages()).to.deep.equal(['of main', 'of none']);
    expect(await messages(`?deploymentId=${preview}`)).to.deep.equal(['of feature']);
  });

  it('look back 24 hours, at least one, and no further than the plan retains', async () => {
    await write(['old'], { hoursAgo: 30 });
    await write(['recent'], { hoursAgo: 0.5 });
    expect(await messages()).to.deep.equal(['recent']);
    expect(await messages('?hours=0')).to.deep.equal(['recent']);
    expect(await messages('?hours=-7')).to.deep.equal(['recent']);
    expect(await messages('?hours=99999')).to.deep.equal(['recent']);
    await workspace.owner.client.patch(`${workspace.path}/services/${service.id}`, {
      configuration: { plan: 'starter' },
    });
    expect(await messages('?hours=48')).to.deep.equal(['old', 'recent']);
  });

  it('refuse values out of bounds, unknown parameters and opaque cursors', async () => {
    const bad = [
      'after=-1',
      'after=x',
      'after=1.5',
      'after=',
      'limit=0',
      'limit=501',
      'limit=1e2',
      'source=kernel',
      'deploymentId=1',
      'deploymentId=urn:uuid:00000000-0000-4000-8000-000000000000',
      `search=${'x'.repeat(201)}`,
      'search=%00',
      'hours=soon',
      'cursor=abc',
      'after=1&after=2',
    ];
    for (const query of bad) {
      expectError(await workspace.owner.reader.get(`${path}?${query}`), 400, 'invalid_request');
    }
  });
});
