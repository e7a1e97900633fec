import { expect } from 'chai';
import { MAX_UNDER_WAY } from '../../shared/detections/model.js';
import { deleteOldDetections, finishDetection } from '../../shared/detections/store.js';
import { expectError, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';

const REPOSITORY = 'https://example.org/owner/name.git';
const DETECTION = {
  branch: 'master',
  commitSha: 'a'.repeat(40),
  framework: 'Next.js',
  runtime: 'node',
  kind: 'web',
  packageManager: 'npm',
  versions: { next: '15.1.0' },
  installCommand: 'npm ci',
  buildCommand: 'npm run build',
  startCommand: 'next start',
  publishDirectory: '',
  applications: [{ rootDirectory: 'apps/web', name: 'web', framework: 'Next.js' }],
} as const;

describe('Detection', () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api } = given));
  beforeEach(async () => {
    workspace = await api.workspace();
  });

  const ask = (body: object) => workspace.owner.client.post(`${workspace.path}/detect`, body);
  const stored = (atLeast: number) =>
    eventually('the question is stored', async () => {
      const rows = await api.db('detections').where({ workspace_id: workspace.id }).whereNull('finished_at');
      return rows.length >= atLeast ? rows : null;
    });

  it('answers with what a worker has found, and keeps the address sealed', async () => {
    const answer = ask({
      repository: REPOSITORY.replace('//', '//user:secret-word@'),
      branch: 'next',
      rootDirectory: 'apps/web',
    });
    const [row] = await stored(1);
    expect(row).to.include({ branch: 'next', root_directory: 'apps/web' });
    expect(JSON.stringify(row)).to.not.contain('secret-word');
    expect(row.sealed_repository.toString('latin1')).to.not.contain('secret-word');
    await finishDetection(api.db, row.id, {
      result: { ...DETECTION, versions: { ...DETECTION.versions }, applications: [...DETECTION.applications] },
    });
    const { status, body } = await answer;
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ detection: DETECTION });
  });

  it('answers source_invalid with the reason if the repository cannot be used', async () => {
    expectError(await ask({ repository: 'ftp://example.org/x' }), 400, 'source_invalid');
    const answer = ask({ repository: REPOSITORY });
    const [row] = await stored(1);
    await finishDetection(api.db, row.id, { error: 'the repository does not exist' });
    const refused = await answer;
    expectError(refused, 400, 'source_invalid');
    expect(refused.body.error.message).to.equal('the repository does not exist');
  });

  it('refuses more than a few at once, and fields out of bounds', async () => {
    const waiting = Array.from({ length: MAX_UNDER_WAY }, () => ask({ repository: REPOSITORY }));
    const rows = await stored(MAX_UNDER_WAY);
    expectError(await ask({ repository: REPOSITORY }), 409, 'capacity_exceeded');
    for (const { id } of rows) await finishDetection(api.db, id, { error: 'no' });
    await Promise.all(waiting);
    for (const body of [
      {},
      { repository: '' },
      { repository: 'x'.repeat(3000) },
      { repository: REPOSITORY, rootDirectory: '../x' },
      { repository: REPOSITORY, kind: 'web' },
    ]) {
      expectError(await ask(body), 400, 'invalid_request');
    }
  });

  it('deletes questions after a while', async () => {
    await Promise.all([
      ask({ repository: REPOSITORY }),
      stored(1).then(([row]) => finishDetection(api.db, row.id, { error: 'x' })),
    ]);
    expect(await deleteOldDetections(api.db)).to.equal(0);
    const all = (await api.db('detections')).length;
    await api.db('detections').update({ created_at: new Date(Date.now() - 3_600_000) });
    expect(await deleteOldDetections(api.db)).to.equal(all);
  });
});
