import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { exists } from '../../shared/core/exists.js';
import { withTimeLimit } from '../../shared/core/time-limit.js';
import { createKey } from '../../shared/identity/commands.js';
import type { Json } from '../support/api.js';
import { nodeServer } from '../support/apps.js';
import { visit } from '../support/client.js';
import {
  createService,
  type Deployment,
  deploy,
  ended,
  queueDeploy,
  readDeployment,
  readService,
  type Service,
} from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually, freePorts, isRunning } from '../support/processes.js';
import { TestRepository } from '../support/repositories.js';

interface GitEnd {
  code: number;
  said: string;
}

/** Timeout of git. A push lasts as long as its deployment. */
const GIT_MS = 150_000;

const ENVIRONMENT = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };

function start(
  args: readonly string[],
  cwd: string,
): { child: ChildProcess; end: Promise<GitEnd>; said: () => string } {
  const child = spawn('git', ['-c', 'safe.directory=*', ...args], {
    cwd,
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const end = withTimeLimit(
    once(child, 'close').then(([code]) => ({ code: Number(code), said })),
    GIT_MS,
    () => {
      child.kill('SIGKILL');
      return new Error(`git ${args.join(' ')} did not end within ${GIT_MS} ms; it said: ${said}`);
    },
  );
  // A test that fails earlier does not handle this promise.
  end.catch(() => undefined);
  return { child, end, said: () => said };
}

function git(cwd: string, ...args: string[]): Promise<GitEnd> {
  return start(args, cwd).end;
}

async function gitOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,ppid=,args=']);
  const rows = stdout.split('\n').flatMap((line) => {
    const [, pid, ppid, args] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return args === undefined ? [] : [{ pid: Number(pid), ppid: Number(ppid), args }];
  });
  const below = (id: number): number[] =>
    rows.filter(({ ppid, args }) => ppid === id && args.includes('git')).flatMap(({ pid }) => [pid, ...below(pid)]);
  return below(parent);
}

describe('git push to the platform', function () {
  this.timeout(240_000);
  let platform: Platform;
  const folders: string[] = [];
  let readKey = '';

  usePlatform({ engine: 'postgres', env: { PUSH_MAX_MB: '1' } }, async (started) => {
    platform = started;
    const owner = { workspaceId: platform.client.workspaceId, email: 'owner@example.test' };
    ({ key: readKey } = await createKey(platform.database.db, {
      ...owner,
      scope: 'read',
      name: 'reads',
      expiresAt: null,
    }));
  });
  after(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  async function folder(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'ranvier-clone-'));
    folders.push(path);
    return path;
  }

  async function clonedFrom(url: string, ...options: string[]): Promise<string> {
    const path = await folder();
    const { code, said } = await git('/', 'clone', '-q', ...options, url, path);
    expect(code, said).to.equal(0);
    return path;
  }

  function urlOf(name: string, key = platform.client.key, workspace = platform.client.workspaceId): string {
    return `http://anybody:${key}@localhost:${platform.apiPort}/git/${workspace}/${name}.git`;
  }

  async function application(
    name: string,
    configuration: object = {},
  ): Promise<{ service: Service; app: TestRepository; at: string }> {
    const service = await createService(platform.client, {
      name,
      configuration: { sourceType: 'push', ...configuration },
    });
    const app = await platform.repositoryOf(nodeServer(`${name} one`));
    await app.git('remote', 'add', 'origin', urlOf(name));
    return { service, app, at: app.folder };
  }

  async function answer(service: Service): Promise<string> {
    return (await visit(service.url, platform.edgePort)).body;
  }

  async function branchOf(name: string, branch = 'main'): Promise<string> {
    const { said } = await git('/', 'ls-remote', urlOf(name, readKey), `refs/heads/${branch}`);
    return said.split('\t')[0] ?? '';
  }

  it('deploys what was pushed; the pusher sees the steps, the log and the address', async () => {
    const { service, app, at } = await application('first', { buildCommand: 'echo built by hand' });
    const { code, said } = await git(at, 'push', 'origin', 'main');
    expect(code, said).to.equal(0);
    for (const shown of [/queued/, /building/, /releasing/, /built by hand/, /Live at http:\/\/first\.localhost/])
      expect(said).to.match(shown);
    expect(await answer(service)).to.equal('first one');
    const live = await readService(platform.client, service.id);
    const deployment = await readDeployment(platform.client, service.id, live.liveDeploymentId ?? '');
    const commit = await app.git('rev-parse', 'HEAD');
    expect(deployment).to.include({ trigger: 'commit', commitSha: commit, commitMessage: 'First commit' });
    expect((await git(at, 'push', 'origin', 'main')).said).to.match(/up-to-date/);

    const clone = await clonedFrom(urlOf('first', readKey));
    expect(await new TestRepository(clone).git('rev-parse', 'HEAD')).to.equal(commit);
    await platform.client.expect('POST', `/services/${service.id}/deploys`, {});
    await eventually('a deployment without a push is live', async () => {
      const { deploymentId, liveDeploymentId } = await readService(platform.client, service.id);
      return liveDeploymentId === deploymentId && liveDeploymentId !== live.liveDeploymentId;
    });
  });

  it('a push whose deployment fails exits with an error, and the same push tries it again', async () => {
    const { service, app, at } = await application('failing', { buildCommand: 'test -e /tmp/never || exit 7' });
    const failed = await git(at, 'push', 'origin', 'main');
    expect(failed.code).to.equal(1);
    expect(failed.said)
      .to.match(/code 7/)
      .and.match(/remote rejected.*the deployment failed/);
    expect(await branchOf('failing')).to.equal('');
    await platform.client.expect('PATCH', `/services/${service.id}`, { configuration: { buildCommand: 'true' } });
    const again = await git(at, 'push', 'origin', 'main');
    expect(again.code, again.said).to.equal(0);
    expect(await branchOf('failing')).to.equal(await app.git('rev-parse', 'HEAD'));
  });

  it('deploys one branch and stores others; forces, deletes, and refuses tags', async () => {
    const { service, app, at } = await application('branches');
    await app.git('branch', 'feature');
    await app.git('tag', 'v1');
    const tagged = await git(at, 'push', 'origin', 'main', 'v1');
    expect(tagged.code).to.equal(1);
    expect(tagged.said).to.match(/refs\/tags\/v1 is refused: only branches/);
    expect((await readService(platform.client, service.id)).deploymentId).to.equal(null);

    const both = await git(at, 'push', 'origin', 'main', 'feature');
    expect(both.code, both.said).to.equal(0);
    expect(both.said).to.match(/feature is stored and not deployed: branches deploys main/);
    expect(await branchOf('branches', 'feature')).to.have.length(40);

    const amended = await app.git('commit', '-q', '--amend', '-m', 'Amended').then(() => app.git('rev-parse', 'HEAD'));
    expect((await git(at, 'push', 'origin', 'main')).said).to.match(/non-fast-forward/);
    const forced = await git(at, 'push', '-f', '-o', 'no-wait', 'origin', 'main');
    expect(forced.code, forced.said).to.equal(0);
    expect(forced.said).to.match(/goes on without this push/);
    await eventually('the branch moves when it is live', async () => (await branchOf('branches')) === amended.trim());

    const deleted = await git(at, 'push', 'origin', ':main', ':feature');
    expect(deleted.code, deleted.said).to.equal(0);
    expect(deleted.said).to.match(/goes on running its last release/);
    expect(await branchOf('branches')).to.equal('');
    expect(await answer(service)).to.equal('branches one');
  });

  it('deploys other branches to previews if the service asks for them, and ends those whose branch is deleted', async () => {
    const { service, app, at } = await application('shown', { previewMode: 'automatic' });
    const previews = async () =>
      (await platform.client.expect<{ previews: Service[] }>('GET', `/services/${service.id}/previews`)).previews;
    expect((await git(at, 'push', 'origin', 'main')).code).to.equal(0);
    await app.git('checkout', '-q', '-b', 'topic');
    const broken = await app.commit('broken', { Procfile: null, 'package.json': '{' });
    const failed = await git(at, 'push', 'origin', 'topic');
    expect(failed.code, failed.said).to.equal(1);
    expect(await branchOf('shown', 'topic'), 'not moved').to.equal('');
    expect((await git(at, 'push', 'origin', 'topic')).said, 'tried again').to.match(/Deploys|building/);
    const topic = await app.commit('topic', { ...nodeServer('shown topic'), 'package.json': null });
    const pushed = await git(at, 'push', 'origin', 'topic');
    expect(pushed.code, pushed.said).to.equal(0);
    expect(pushed.said).to.match(/Live at http:\/\/shown-topic\.localhost/);
    expect(await branchOf('shown', 'topic'))
      .to.equal(topic)
      .and.not.equal(broken);
    const [preview] = await previews();
    if (!preview) throw new Error('no preview');
    expect(await answer(preview)).to.equal('shown topic');
    expect(await answer(service), 'the service itself').to.equal('shown one');
    const own = await git(at, 'push', urlOf('shown-topic'), 'topic:topic');
    expect(own.said).to.match(/is a preview; push its branch topic to its service/);

    await app.commit('topic two', nodeServer('shown topic two'));
    const both = await git(at, 'push', 'origin', 'topic', 'topic:refs/heads/second');
    expect(both.code, both.said).to.equal(0);
    expect(await answer(preview)).to.equal('shown topic two');
    expect(await previews()).to.have.length(2);
    const deleted = await git(at, 'push', 'origin', ':topic', ':second');
    expect(deleted.code, deleted.said).to.equal(0);
    await eventually('their previews are gone', async () => (await previews()).length === 0, 90_000);
    expect(await answer(service)).to.equal('shown one');
  });

  it('deploys again what a push that does not wait has just brought, whether its branch has moved or not', async () => {
    const { service, app, at } = await application('arriving');
    for (const words of ['arriving one', 'arriving two', 'arriving three']) {
      const commit = await app.commit(words, nodeServer(words));
      expect((await git(at, 'push', '-o', 'no-wait', 'origin', 'main')).code).to.equal(0);
      await eventually(`${words} is live`, async () => {
        const { items } = await platform.client.expect<{ items: Deployment[] }>(
          'GET',
          `/services/${service.id}/deploys`,
        );
        return items[0]?.status === 'live';
      });
      const { id } = await queueDeploy(platform.client, service.id);
      const { status, error, commitSha } = await ended(platform.client, service.id, id);
      expect({ status, error, commitSha }).to.deep.include({ status: 'live', commitSha: commit });
    }
  });

  it('takes the shallow clones of CI', async () => {
    const { service, app } = await application('shallow');
    for (const word of ['two', 'three']) await app.commit(word, nodeServer(`shallow ${word}`));
    const clone = await clonedFrom(`file://${app.folder}`, '--depth', '1');
    const pushed = await git(clone, 'push', urlOf('shallow'), 'HEAD:refs/heads/main');
    expect(pushed.code, pushed.said).to.equal(0);
    expect(await answer(service)).to.equal('shallow three');
    await new TestRepository(clone).commit('four', nodeServer('shallow four'));
    const again = await git(clone, 'push', '-o', 'no-wait', urlOf('shallow'), 'HEAD:refs/heads/main');
    expect(again.code, again.said).to.equal(0);
    await eventually('the next commit is live', async () => (await answer(service)) === 'shallow four');
    const whole = await clonedFrom(urlOf('shallow', readKey));
    expect(await new TestRepository(whole).git('fsck')).to.not.match(/missing|broken/);
  });

  it('a pusher that is killed, and an API that is killed, lose nothing', async () => {
    const { service, app, at } = await application('killed', { buildCommand: 'sleep 3' });
    const pushing = start(['push', 'origin', 'main'], at);
    await eventually('the build begins', () => /-----> building/.test(pushing.said()));
    pushing.child.kill('SIGKILL');
    await pushing.end;
    const first = await app.git('rev-parse', 'HEAD');
    await eventually('the branch moves', async () => (await branchOf('killed')) === first);
    expect(await answer(service)).to.equal('killed one');

    const second = await app.commit('two', nodeServer('killed two'));
    const cut = start(['push', 'origin', 'main'], at);
    await eventually('the build begins', () => /-----> building/.test(cut.said()));
    const api = platform.processes.filter(({ name }) => name === 'api').at(-1);
    await api?.stop('SIGKILL');
    expect((await cut.end).code).to.not.equal(0);
    await platform.startApi();
    const joined = await git(at, 'push', 'origin', 'main');
    expect(joined.code, joined.said).to.equal(0);
    await eventually('the branch moves', async () => (await branchOf('killed')) === second);
    expect(await answer(service)).to.equal('killed two');
    const { items } = await platform.client.expect<{ items: unknown[] }>('GET', `/services/${service.id}/deploys`);
    expect(items, 'one deployment for each commit').to.have.length(2);
  });

  it('two pushes of one commit are one deployment', async () => {
    const { service, at } = await application('twice', { buildCommand: 'sleep 2' });
    const [one, two] = await Promise.all([git(at, 'push', 'origin', 'main'), git(at, 'push', 'origin', 'main')]);
    expect([one.code, two.code], one.said + two.said).to.deep.equal([0, 0]);
    const { items } = await platform.client.expect<{ items: unknown[] }>('GET', `/services/${service.id}/deploys`);
    expect(items).to.have.length(1);
  });

  it('a push that read the branch before another one moved it to the same commit deploys nothing', async () => {
    const { service, app, at } = await application('late');
    expect((await git(at, 'push', 'origin', 'main')).code).to.equal(0);
    const late = await clonedFrom(urlOf('late', readKey));
    await app.commit('two', nodeServer('late two'));
    await new TestRepository(late).git('pull', '-q', at, 'main');
    const seen = join(await folder(), 'seen');
    // Git runs this hook after it has read the branches and before it sends anything.
    const hook = `#!/bin/sh\ntouch ${seen}\nwhile test -e ${seen}; do sleep 0.05; done\n`;
    await writeFile(join(late, '.git/hooks/pre-push'), hook, { mode: 0o755 });
    const pushing = start(['push', urlOf('late'), 'HEAD:refs/heads/main'], late);
    await eventually('it has read the branch', () => exists(seen));
    expect((await git(at, 'push', 'origin', 'main')).code).to.equal(0);
    await rm(seen);
    const { code, said } = await pushing.end;
    expect(code, said).to.equal(0);
    expect(await answer(service)).to.equal('late two');
    const { items } = await platform.client.expect<{ items: unknown[] }>('GET', `/services/${service.id}/deploys`);
    expect(items).to.have.length(2);
  });

  it('a worker with another DATA_DIR fetches from the API', async () => {
    const { service, app, at } = await application('elsewhere');
    const dataDir = await folder();
    await chmod(dataDir, 0o711);
    for (const worker of platform.workers) await worker.stop();
    const stranger = await platform.startWorker({
      DATA_DIR: dataDir,
      PUBLIC_URL: `http://127.0.0.1:${platform.apiPort}`,
      RUNTIME_PORTS: '30100-30199',
      ALLOW_LOCAL_REPOSITORIES: 'false',
    });
    try {
      const pushed = await git(at, 'push', 'origin', 'main');
      expect(pushed.code, pushed.said).to.equal(0);
      expect(await answer(service)).to.equal('elsewhere one');
      await app.commit('two', nodeServer('elsewhere two'));
      const again = await git(at, 'push', 'origin', 'main');
      expect(again.code, again.said).to.equal(0);
      expect(await answer(service)).to.equal('elsewhere two');
      await platform.client.expect('DELETE', `/services/${service.id}`, { confirm: 'elsewhere' });
      await eventually(
        'the service is deleted',
        async () => (await platform.client.call('GET', `/services/${service.id}`)).status === 404,
      );
    } finally {
      await stranger.stop();
      await platform.startWorker();
    }
  });

  it('another API host without the repository forwards to the one that has it', async () => {
    const { service, app, at } = await application('forwarded', { previewMode: 'automatic' });
    const [port] = await freePorts(1);
    const dataDirs = [await folder(), await folder()];
    for (const dataDir of dataDirs) await chmod(dataDir, 0o711);
    const [apiDir = '', workerDir = ''] = dataDirs;
    const other = await platform.startApi({ PORT: String(port), DATA_DIR: apiDir, PUSH_MAX_MB: '1' });
    const stranger = await platform.startWorker({
      DATA_DIR: workerDir,
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      RUNTIME_PORTS: '30200-30299',
      ALLOW_LOCAL_REPOSITORIES: 'false',
    });
    const workers = platform.workers.filter((worker) => worker !== stranger);
    for (const worker of workers) await worker.stop();
    const elsewhere = urlOf('forwarded').replace(`:${platform.apiPort}/`, `:${port}/`);
    try {
      const first = await git(at, 'push', 'origin', 'main');
      expect(first.code, first.said).to.equal(0);
      await app.commit('two', nodeServer('forwarded two'));
      const second = await git(at, 'push', elsewhere, 'main');
      expect(second.code, second.said).to.equal(0);
      expect(second.said).to.match(/Live at http:\/\/forwarded\.localhost/);
      expect(await answer(service)).to.equal('forwarded two');
      expect(await branchOf('forwarded')).to.equal(await app.git('rev-parse', 'HEAD'));
      expect(await readdir(join(apiDir, 'pushed'))).to.not.include(`${service.id}.git`);
      await clonedFrom(elsewhere);
      const wrong = await git(at, 'push', elsewhere.replace(platform.client.key, 'wrong'), 'main');
      expect(wrong.said).to.match(/no key of this installation|Authentication failed/);

      await platform.processes.find(({ name, ended }) => name === 'api' && !ended)?.stop('SIGKILL');
      await app.commit('three', nodeServer('forwarded three'));
      const alone = await git(at, 'push', elsewhere, 'main');
      expect(alone.code).to.not.equal(0);
      expect(alone.said).to.match(/API host that has this repository does not answer/);
      await platform.startApi();
      const again = await git(at, 'push', elsewhere, 'main');
      expect(again.code, again.said).to.equal(0);
      expect(await answer(service)).to.equal('forwarded three');
      await platform.client.expect('DELETE', `/services/${service.id}`, { confirm: 'forwarded' });
      await eventually(
        'the service is deleted',
        async () => (await platform.client.call('GET', `/services/${service.id}`)).status === 404,
      );
    } finally {
      await stranger.stop();
      await other.stop();
      await platform.startWorker();
    }
  });

  it('refuses wrong keys, strangers, services that are not pushed to, and too much', async () => {
    const { app, at } = await application('refusing');
    const other = await createService(platform.client, { name: 'other', configuration: { repository: app.url } });
    const refused = async (url: string, why: RegExp) => {
      const { code, said } = await git(at, 'push', url, 'main');
      expect(code, said).to.not.equal(0);
      expect(said).to.match(why);
    };
    await refused(urlOf('refusing', readKey), /403|write key/);
    await refused(urlOf('refusing', `${platform.client.key.slice(0, -1)}!`), /Authentication failed/);
    await refused(
      `http://localhost:${platform.apiPort}/git/${platform.client.workspaceId}/refusing.git`,
      /could not read Username|terminal prompts/,
    );
    await refused(
      urlOf('refusing', platform.client.key, '00000000-0000-4000-8000-000000000000'),
      /not found|no such service/,
    );
    await refused(urlOf('nothing'), /not found|no such service/);
    await refused(urlOf(other.name), /is not deployed by push/);
    const forged = `http://ranvier-worker:${'A'.repeat(120)}@localhost:${platform.apiPort}/git/${platform.client.workspaceId}/refusing.git`;
    expect((await git('/', 'ls-remote', forged)).code).to.not.equal(0);

    await writeFile(join(app.folder, 'large'), Buffer.from(Array.from({ length: 1 << 21 }, () => Math.random() * 256)));
    await app.git('add', '-A');
    await app.git('commit', '-q', '-m', 'Large');
    await refused('origin', /pack exceeds maximum allowed size/);
    expect(await branchOf('refusing')).to.equal('');
  });

  it('keeps what was pushed below DATA_DIR, and removes it with the service', async () => {
    const { service, at } = await application('kept');
    await git(at, 'push', '-q', 'origin', 'main');
    const names = () => readdir(join(platform.dataDir, 'pushed'));
    expect(await names()).to.include(`${service.id}.git`);
    const { db } = platform.database;
    await eventually('its size is counted', async () => {
      const row = await db('pushed_repositories').where({ service_id: service.id }).first();
      return row?.size_bytes > 0;
    });
    await platform.client.expect('DELETE', `/services/${service.id}`, { confirm: 'kept' });
    await eventually('it is removed', async () => !(await names()).includes(`${service.id}.git`), 120_000);
  });

  describe('and what is pushed elsewhere', () => {
    interface Hook {
      id: string;
      secret: string;
    }

    async function followed(
      name: string,
      configuration: object = {},
    ): Promise<{ service: Service; app: TestRepository }> {
      const settings = { autoDeploy: 'commit', ...configuration };
      const { service, repository: app } = await platform.serviceOf(name, nodeServer(`${name} one`), settings);
      await deploy(platform.client, service.id);
      return { service, app };
    }

    async function deliver({ id, secret }: Hook, before: string, after: string, delivery: string): Promise<number> {
      const body = JSON.stringify({ ref: 'refs/heads/main', before, after, head_commit: { id: after, message: '' } });
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      const headers = {
        'Content-Type': 'application/json',
        'X-GitHub-Event': 'push',
        'X-GitHub-Delivery': delivery,
        'X-Hub-Signature-256': `sha256=${signature}`,
      };
      const url = `http://127.0.0.1:${platform.apiPort}/api/hooks/${id}`;
      return (await fetch(url, { method: 'POST', body, headers })).status;
    }

    async function commitsOf(service: Service): Promise<string[]> {
      const { items } = await platform.client.expect<{ items: Deployment[] }>('GET', `/services/${service.id}/deploys`);
      return items.map(({ commitSha }) => commitSha).reverse();
    }

    async function decided(service: Service, reports: number, outcome: RegExp): Promise<void> {
      await eventually(`${reports} reports are decided, one with ${outcome}`, async () => {
        const rows = await platform.database.db('commit_events').where({ service_id: service.id });
        const open = rows.filter((row) => row.finished_at === null || row.outcome === '');
        const hooked = rows.filter((row) => row.hook_id !== null);
        const shown = rows.map((row) => `${row.actor}: ${row.outcome}`).join('; ');
        if (open.length > 0 || hooked.length !== reports) throw new Error(shown);
        if (!rows.some((row) => outcome.test(row.outcome))) throw new Error(shown);
        return true;
      });
    }

    async function polled(service: Service): Promise<void> {
      const { db } = platform.database;
      const watch = () => db('commit_watches').where({ service_id: service.id }).first();
      const { fingerprint } = await eventually('it is watched', watch);
      const row = () => db('polled_repositories').where({ fingerprint }).first();
      const { polls } = await row();
      await db('polled_repositories')
        .where({ fingerprint })
        .update({ next_at: new Date(0) });
      await eventually('it is polled', async () => (await row()).polls > polls);
    }

    it('a hook deploys a new commit once, and not what its message or its files exclude', async () => {
      const { service, app } = await followed('hooked', { ignorePaths: ['docs/'] });
      const { hook } = await platform.client.expect<{ hook: Hook }>('POST', `/services/${service.id}/hooks`, {
        provider: 'github',
      });
      const commits = [await app.git('rev-parse', 'HEAD')];
      const push = async (message: string, files: Record<string, string>): Promise<string> => {
        const commit = await app.commit(message, files);
        const before = commits.at(-1) ?? '';
        commits.push(commit);
        const statuses = await Promise.all([1, 2].map((n) => deliver(hook, before, commit, `${commit}-${n}`)));
        expect(statuses).to.deep.equal([202, 202]);
        expect(await deliver(hook, before, commit, `${commit}-1`), 'a redelivery').to.equal(200);
        return commit;
      };
      const two = await push('Two', nodeServer('hooked two'));
      await decided(service, 2, /^deployed$/);
      await eventually('the commit is live', async () => (await answer(service)) === 'hooked two');
      await push('Only documents', { 'docs/a': 'b' });
      await decided(service, 4, /no changed file/);
      await push('Three [skip ci]', nodeServer('hooked three'));
      await decided(service, 6, /asks not to be deployed/);
      await polled(service);
      expect(await commitsOf(service)).to.deep.equal([commits[0], two]);
    });

    it('a hook with stack: true applies ranvier.yaml of a push, and its services are deployed once', async () => {
      const { client } = platform;
      const { project } = await client.expect<Json>('POST', '/projects', { name: 'Shop', color: 'blue' });
      const app = await platform.repositoryOf(nodeServer('stacked one'));
      const configuration = { repository: app.url, autoDeploy: 'commit' };
      const place = { projectId: project.id, environmentId: project.environments[0].id };
      const front = await createService(client, { name: 'front', ...place, configuration });
      const { hook } = await client.expect<{ hook: Hook }>('POST', `/services/${front.id}/hooks`, {
        provider: 'github',
        stack: true,
      });
      const outcome = async () =>
        (await client.expect<Json>('GET', `/services/${front.id}/hooks/${hook.id}`)).hook.lastOutcome;
      const first = await app.git('rev-parse', 'HEAD');
      const entry = `{ kind: web, repository: ${app.url}, autoDeploy: commit }`;
      const file = (...names: string[]) => `services:\n${names.map((name) => `  ${name}: ${entry}\n`).join('')}`;
      const two = await app.commit('two', { ...nodeServer('stacked two'), 'ranvier.yaml': file('front', 'back') });
      expect(await deliver(hook, first, two, 'stack-two')).to.equal(202);
      const back = await eventually('the apply makes the other service', async () => {
        const { services } = await client.expect<{ services: Service[] }>('GET', '/services');
        return services.find(({ name }) => name === 'back');
      });
      const three = await app.commit('three', nodeServer('stacked three'));
      expect(await deliver(hook, two, three, 'stack-three')).to.equal(202);
      expect(await deliver(hook, two, three, 'stack-three'), 'a redelivery').to.equal(200);
      for (const service of [front, back]) {
        await eventually('the later push is live', async () => (await answer(service)) === 'stacked three');
        expect(await commitsOf(service)).to.deep.equal([two, three]);
      }
      const four = await app.commit('four', { ...nodeServer('stacked four'), 'ranvier.yaml': file('front') });
      await deliver(hook, three, four, 'stack-four');
      await eventually('the push is refused', async () =>
        /the plan deletes service back: .*rnv apply/.test(await outcome()),
      );
      for (const service of [front, back]) expect(await commitsOf(service)).to.deep.equal([two, three]);
    });

    it('polling deploys a new commit of each service of a repository, once', async () => {
      const { service, app } = await followed('polled');
      const configuration = { repository: app.url, autoDeploy: 'commit', branch: 'other' };
      await app.git('branch', 'other');
      const second = await createService(platform.client, { name: 'polled too', configuration });
      await polled(service);
      await polled(second);
      expect(await commitsOf(second), 'nothing was pushed yet').to.deep.equal([]);
      const two = await app.commit('two', nodeServer('polled two'));
      await app.git('branch', '-f', 'other', 'main');
      await polled(service);
      await polled(service);
      await eventually(
        'both are live',
        async () => (await answer(service)) === 'polled two' && (await answer(second)) === 'polled two',
      );
      expect((await commitsOf(service)).at(-1)).to.equal(two);
      expect(await commitsOf(service)).to.have.length(2);
      expect(await commitsOf(second)).to.deep.equal([two]);
      const watches = await platform.database.db('commit_watches').whereIn('service_id', [service.id, second.id]);
      expect(new Set(watches.map((watch) => watch.fingerprint.toString('hex'))).size, 'polled as one').to.equal(1);
    });
  });

  it('a cancelled deployment ends the push with an error', async () => {
    const { service, at } = await application('cancelled', { buildCommand: 'sleep 60' });
    const pushing = start(['push', 'origin', 'main'], at);
    await eventually('the build begins', () => /-----> building/.test(pushing.said()));
    const { deploymentId } = await readService(platform.client, service.id);
    await platform.client.expect('POST', `/services/${service.id}/deploys/${deploymentId}/cancel`, {});
    await ended(platform.client, service.id, deploymentId ?? '');
    const { code, said } = await pushing.end;
    expect(code).to.equal(1);
    expect(said).to.match(/the deployment was cancelled/);
  });

  it('leaves no process of git if its API process is killed', async () => {
    const { workspaceId, key } = platform.client;
    await createService(platform.client, { name: 'broken', configuration: { sourceType: 'push' } });
    const api = platform.processes.findLast(({ name }) => name === 'api');
    const socket = connect(platform.apiPort, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      [
        `POST /git/${workspaceId}/broken.git/git-receive-pack HTTP/1.1`,
        'Host: localhost',
        `Authorization: Basic ${Buffer.from(`anybody:${key}`).toString('base64')}`,
        'Content-Type: application/x-git-receive-pack-request',
        'Content-Length: 5000',
        '',
        '00a1',
      ].join('\r\n'),
    );
    let git: number[] = [];
    await eventually('git reads the push', async () => {
      git = await gitOf(api?.child.pid ?? 0);
      return git.length >= 2;
    });
    await api?.stop('SIGKILL');
    await eventually('git has ended', async () => git.filter(isRunning).length === 0);
    expect(git.filter(isRunning)).to.deep.equal([]);
    socket.destroy();
    await platform.startApi();
  });
});
