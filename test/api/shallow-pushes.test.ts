import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { PushedRepositories, type PushedRepository } from '../../api/git/pushed-repositories.js';
import { settleEndedPush } from '../../api/git/settle-pushes.js';
import { createLogger } from '../../shared/core/log.js';
import type { DeploymentRow } from '../../shared/deployments/rows.js';
import { type Json, newKey, newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { createRepository, TestRepository } from '../support/repositories.js';

const ENVIRONMENT = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };

/** A CI system clones only the newest commit. Git itself moves the branch for such a push, after the deployment. */
describe('A shallow push', function () {
  this.timeout(120_000);
  let api: TestApi;
  let workspace: TestWorkspace;
  let dataDir: string;
  let key: string;
  let repositories: PushedRepositories;
  let origin: TestRepository;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-shallow-'));
    api = await startTestApi({ dataDir });
    workspace = await api.workspace();
    ({ key } = await newKey(api.db, workspace.id, workspace.owner.email, 'write'));
    const log = createLogger('test', 'silent');
    repositories = new PushedRepositories({ db: api.db, log, dataDir, address: 'http://127.0.0.1:1' });
    origin = await createRepository({ 'a.txt': '1' });
    for (const text of ['2', '3']) await origin.commit(text, { 'a.txt': text });
  });
  after(async () => {
    await api?.close();
    await origin?.remove();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function git(cwd: string, ...args: string[]): Promise<{ code: number; said: string }> {
    const child = spawn('git', ['-c', 'safe.directory=*', ...args], {
      cwd,
      env: ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
    const [code] = await once(child, 'close');
    return { code: Number(code), said };
  }

  /** Makes the deployment of a push live, and runs the upkeep before the push has noticed. */
  async function liveAndSettled(service: Json, number: number): Promise<PushedRepository> {
    const repository = await repositories.at(service.id);
    const find = () => api.db<DeploymentRow>('deployments').where({ service_id: service.id, number }).first();
    const { id } = await eventually('the deployment is queued', find);
    await api.db('deployments').where({ id }).update({ status: 'live', finished_at: new Date(), due_at: null });
    await settleEndedPush(api.db, repository, id);
    return repository;
  }

  it('succeeds if the upkeep settles it first', async () => {
    const name = 'shallow';
    const service = await newService(workspace.owner.client, workspace.path, {
      name,
      configuration: { sourceType: 'push' },
    });
    const clone = await mkdtemp(join(dataDir, 'clone-'));
    const cloned = await git('/', 'clone', '-q', '--depth', '1', `file://${origin.folder}`, clone);
    expect(cloned.code, cloned.said).to.equal(0);
    const url = `${api.url.replace('//', `//any:${key}@`)}/git/${workspace.id}/${name}.git`;
    for (const number of [1, 2]) {
      const [pushed] = await Promise.all([
        git(clone, 'push', url, 'HEAD:refs/heads/main'),
        liveAndSettled(service, number),
      ]);
      expect(pushed.code, pushed.said).to.equal(0);
      const head = await new TestRepository(clone).git('rev-parse', 'HEAD');
      const whole = await mkdtemp(join(dataDir, 'whole-'));
      const fetched = await git('/', 'clone', '-q', url, whole);
      expect(fetched.code, fetched.said).to.equal(0);
      expect(await new TestRepository(whole).git('rev-parse', 'HEAD')).to.equal(head);
      expect(await new TestRepository(whole).git('fsck')).to.not.match(/missing|broken/);
      await new TestRepository(clone).commit('Next', { 'a.txt': `next ${number}` });
    }
  });
});
