import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { signalGroup } from '../../../shared/core/signal-process.js';
import { phpServer } from '../../../workers/builders/languages/php-server.js';
import { eventually, freePorts, processesWith } from '../../support/processes.js';
import { writeFiles } from '../../support/repositories.js';

const FOLDERS = ['/usr/bin', '/usr/sbin', '/bin', '/sbin', '/usr/local/bin'];
const USER = 65_534;
const has = (command: string) => spawnSync('sh', ['-c', command]).status === 0;
const hasPhp = has('command -v php && command -v setsid');
const hasFpm = hasPhp && has('ls /usr/sbin/php-fpm* || ls /usr/local/sbin/php-fpm*');

const FILES = {
  'index.php': `<?php
session_start();
error_log('a line of the log');
if (isset($_GET['slow'])) usleep(600000);
echo implode(' ', [php_sapi_name(), $_SERVER['REQUEST_URI'], $_SERVER['HTTPS'] ?? 'plain', getenv('WORD')]);`,
  'sub/index.php': '<?php echo "below";',
  'page.css': 'body {}',
  '.env': 'SECRET=1',
  'composer.json': '{}',
  'vendor/x.php': '<?php echo "library";',
  'vendor/x.js': 'script',
};

/** `without` matches programs that are hidden from the server. */
const SERVERS: readonly [name: string, needs: string, without: RegExp, sapi: string][] = [
  ['nginx', 'nginx', /^caddy$/, 'fpm-fcgi'],
  ['Caddy', 'caddy', /^nginx$/, 'fpm-fcgi'],
  ['PHP itself', 'php', /^(nginx|caddy|php-fpm.*)$/, 'cli-server'],
];

describe('The server of PHP projects', function () {
  this.timeout(30_000);
  let root: string;
  let child: ChildProcess | null = null;
  let output = '';

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'ranvier-php-'));
    await chmod(root, 0o755);
  });
  afterEach(async () => {
    // PHP's own server does not end its workers.
    if (child?.pid) signalGroup(child.pid, 'SIGTERM');
    await eventually(
      'the end of the server',
      () => child === null || child.exitCode !== null || child.signalCode !== null,
    );
    await rm(root, { recursive: true, force: true });
  });

  async function start(without: RegExp): Promise<string> {
    const [programs, app, temporary] = ['bin', 'app', 'tmp'].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [programs, app, temporary]) await mkdir(folder);
    const seen = new Set<string>();
    for (const folder of FOLDERS) {
      for (const name of await readdir(folder).catch(() => [])) {
        if (without.test(name) || seen.has(name)) continue;
        seen.add(name);
        await symlink(join(folder, name), join(programs, name));
      }
    }
    await writeFiles(app, FILES);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chown(temporary, USER, USER);
    const [port] = await freePorts(1);
    output = '';
    child = spawn('/bin/sh', ['-c', phpServer('.')], {
      cwd: app,
      env: { PATH: programs, PORT: String(port), TMPDIR: temporary, HOME: temporary, WORD: 'word' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(isRoot ? { uid: USER, gid: USER } : {}),
    });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => (output += data));
    const address = `http://127.0.0.1:${port}`;
    await eventually(
      'an answer',
      async () => {
        if (child?.exitCode !== null) throw new Error(output);
        return (await fetch(`${address}/page.css`)).status === 200;
      },
      20_000,
    );
    return address;
  }

  for (const [name, needs, without, sapi] of SERVERS) {
    const canRun = name === 'PHP itself' ? hasPhp : hasFpm && has(`command -v ${needs}`);
    const missing = canRun ? '' : `: this host lacks ${needs} or php-fpm`;

    it(`answers by ${name} what a project wants, and nothing that it hides${missing}`, async function () {
      if (!canRun) this.skip();
      const address = await start(without);
      const get = async (path: string, headers: Record<string, string> = {}) => {
        const response = await fetch(address + path, { headers });
        return response.status === 200 ? response.text() : response.status;
      };
      expect(await get('/')).to.equal(`${sapi} / plain word`);
      expect(await get('/a/b.c?d=1')).to.equal(`${sapi} /a/b.c?d=1 plain word`);
      expect(await get('/sub/')).to.equal('below');
      expect(await get('/page.css')).to.equal('body {}');
      expect(await get('/vendor/x.js')).to.equal('script');
      for (const path of ['/.env', '/composer.json', '/vendor/x.php', '/sub/.git/config'])
        expect(await get(path), path).to.equal(404);
      if (sapi === 'fpm-fcgi') expect(await get('/', { 'x-forwarded-proto': 'https' })).to.contain(' on ');
      // PHP's own server writes the log to a pipe, which Node.js gives no child.
      if (sapi === 'fpm-fcgi') await eventually('a line of the log', () => output.includes('a line of the log'));
    });

    it(`ends by ${name} after the running requests at TERM, and if a part of it ends${missing}`, async function () {
      if (!canRun || sapi !== 'fpm-fcgi') this.skip();
      const address = await start(without);
      const slow = fetch(`${address}/?slow=1`).then((response) => response.text());
      const folder = join(root, 'tmp');
      await eventually('the request has begun', () => has(`ls ${folder}/sess_*`));
      child?.kill('SIGTERM');
      expect(await slow).to.contain('slow=1');
      await eventually('the end', () => child?.exitCode === 0);
      expect(await processesWith(folder), 'processes that are left').to.equal('');

      await rm(join(root, 'bin'), { recursive: true });
      await rm(join(root, 'app'), { recursive: true });
      await rm(folder, { recursive: true });
      await start(without);
      process.kill(Number(spawnSync('cat', [join(folder, 'php-fpm.pid')]).stdout), 'SIGKILL');
      await eventually('the end', () => child?.exitCode === 1);
      expect(output).to.match(/php-fpm\S* has ended, and the application with it/);
      await eventually('no process is left', async () => (await processesWith(folder)) === '');
    });
  }
});
