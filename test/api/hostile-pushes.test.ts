import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { exists } from '../../shared/core/exists.js';
import { type Json, newKey, newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { deltaBomb, objectHead, packOf, pktLine, varint } from '../support/packs.js';
import { eventually, processesWith } from '../support/processes.js';
import { createRepository, type TestRepository } from '../support/repositories.js';

const run = promisify(execFile);
const MIB = 1024 ** 2;
const NOTHING = '0'.repeat(40);
const ENVIRONMENT = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };

describe('A hostile push', function () {
  this.timeout(180_000);
  let api: TestApi;
  let workspace: TestWorkspace;
  let dataDir: string;
  let url: string;
  let authorization: string;
  let service: Json;
  let repository: TestRepository;
  /** A file that an attack would create if it succeeded. */
  let marker: string;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'ranvier-pushes-'));
    marker = join(dataDir, 'marker');
    api = await startTestApi({ dataDir, pushMaxBytes: 2 * MIB });
    workspace = await api.workspace();
    service = await newService(workspace.owner.client, workspace.path, {
      name: 'target',
      configuration: { sourceType: 'push' },
    });
    const { key } = await newKey(api.db, workspace.id, workspace.owner.email, 'write');
    url = `${api.url.replace('//', `//any:${key}@`)}/git/${workspace.id}/target.git`;
    authorization = `Basic ${Buffer.from(`any:${key}`).toString('base64')}`;
    repository = await createRepository({ 'a.txt': 'a' });
  });
  after(async () => {
    await api?.close();
    await repository?.remove();
    await rm(dataDir, { recursive: true, force: true });
  });
  afterEach(async () => {
    expect(await exists(marker), 'the marker of an attack').to.equal(false);
    const path = join(dataDir, 'pushed', `${service.id}.git`);
    await eventually('git has ended', async () => (await processesWith(path)) === '');
    const objects = await readdir(join(path, 'objects')).catch(() => []);
    expect(objects.filter((name) => name.startsWith('tmp_') || name.startsWith('incoming'))).to.deep.equal([]);
    const sha = await repository.commit('Honest', { 'a.txt': String(Math.random()) });
    const honest = await push(`${sha}:refs/heads/honest`, '-f');
    expect(honest.code, honest.said).to.equal(0);
  });

  function push(spec: string, ...options: string[]): Promise<{ code: number; said: string }> {
    return new Promise((resolve, reject) => {
      const args = ['-c', 'safe.directory=*', '-C', repository.folder, 'push', ...options, url, ...spec.split(' ')];
      const child = spawn('git', args, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
      let said = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
      child.once('error', reject);
      child.once('close', (code) => resolve({ code: Number(code), said }));
    });
  }
  async function pushed(): Promise<true> {
    const { code, said } = await push('HEAD:refs/heads/late', '-f');
    if (code !== 0) throw new Error(said);
    return true;
  }
  const store = async (type: string, content: Buffer): Promise<string> => {
    const args = [
      '-c',
      'safe.directory=*',
      '-C',
      repository.folder,
      'hash-object',
      '-t',
      type,
      '-w',
      '--literally',
      '--stdin',
    ];
    const child = run('git', args, { env: ENVIRONMENT });
    child.child.stdin?.end(content);
    return (await child).stdout.trim();
  };
  const entry = (mode: string, name: string, sha: string) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(sha, 'hex')]);
  const tree = (...entries: Buffer[]) => store('tree', Buffer.concat(entries));
  const commitOf = async (treeSha: string): Promise<string> => repository.git('commit-tree', '-m', 'x', treeSha);

  async function send(commands: [from: string, to: string, ref: string][], pack: Buffer): Promise<string> {
    const lines = commands.map(([from, to, ref], i) =>
      pktLine(`${from} ${to} ${ref}${i === 0 ? '\0report-status' : ''}`),
    );
    const response = await fetch(`${url.replace(/\/\/[^@]*@/, '//')}/git-receive-pack`, {
      method: 'POST',
      headers: { Authorization: authorization, 'Content-Type': 'application/x-git-receive-pack-request' },
      body: new Uint8Array(Buffer.concat([Buffer.from(`${lines.join('')}0000`), pack])),
    });
    return `${response.status} ${await response.text()}`;
  }

  it('with paths that leave the tree, or enter .git, is refused by name', async () => {
    const blob = await store('blob', Buffer.from(`[core]\n\tfsmonitor = touch ${marker}\n`));
    const inner = await tree(entry('100644', 'config', blob));
    const cases: [treeSha: Promise<string>, reason: RegExp][] = [
      [tree(entry('40000', '.git', inner)), /hasDotgit/],
      [tree(entry('40000', '.GIT', inner)), /hasDotgit/],
      [tree(entry('40000', 'git~1', inner)), /hasDotgit/],
      [tree(entry('40000', '..', inner)), /hasDotdot/],
      [tree(entry('40000', '.', inner)), /hasDot/],
      [tree(entry('100644', 'a/b', blob)), /fullPathname/],
      [tree(entry('100644', '', blob)), /emptyName|badTree|empty filename/],
      [tree(entry('100644', 'same', blob), entry('100644', 'same', blob)), /duplicateEntries/],
    ];
    for (const [made, reason] of cases) {
      const { code, said } = await push(`${await commitOf(await made)}:refs/heads/bad`);
      expect(code, said).to.not.equal(0);
      expect(said).to.match(reason);
    }
  });

  it('with submodules that name options, or a linked .gitmodules, is refused', async () => {
    const modules = (lines: string) => store('blob', Buffer.from(`[submodule "x"]\n\tpath = x\n${lines}`));
    const cases: [mode: string, blob: Promise<string>, reason: RegExp][] = [
      ['100644', modules(`\turl = --upload-pack=touch ${marker}\n`), /gitmodulesUrl/],
      ['100644', modules(`\turl = https://example.com/x\n\tpath = --x\n`), /gitmodulesPath/],
      ['100644', modules(`\turl = https://example.com/x\n\tupdate = !touch ${marker}\n`), /gitmodulesUpdate/],
      ['120000', store('blob', Buffer.from('/etc/passwd')), /gitmodulesSymlink/],
    ];
    for (const [mode, blob, reason] of cases) {
      const made = await tree(entry(mode, '.gitmodules', await blob));
      const { code, said } = await push(`${await commitOf(made)}:refs/heads/bad`);
      expect(code, said).to.not.equal(0);
      expect(said).to.match(reason);
    }
  });

  it('with broken commits is refused', async () => {
    const good = await repository.git('rev-parse', 'HEAD^{tree}');
    const broken = await store('commit', Buffer.from(`tree ${good}\nauthor nobody\n\nx\n`));
    expect((await push(`${broken}:refs/heads/bad`)).said).to.match(/missingEmail|fsck error/);
  });

  it('with hooks, attributes and configuration in its files runs none of them', async () => {
    const script = { script: `#!/bin/sh\ntouch ${marker}\n` };
    const sha = await repository.commit('Scripts', {
      'hooks/post-receive': script,
      'hooks/proc-receive': script,
      'hooks/pre-receive': script,
      '.gitattributes': '* filter=evil diff=evil export-subst\n',
      config: `[core]\n\tfsmonitor = touch ${marker}\n[filter "evil"]\n\tclean = touch ${marker}\n`,
      HEAD: 'ref: refs/heads/evil\n',
      link: { link: '/etc/passwd' },
    });
    const { code, said } = await push(`${sha}:refs/heads/scripts`);
    expect(code, said).to.equal(0);
  });

  it('to refs with tricks in their names is refused for each', async () => {
    const sha = await repository.git('rev-parse', 'HEAD');
    await push(`${sha}:refs/heads/known`);
    const names = [
      'refs/heads/../../../config',
      'refs/heads/x.lock',
      'refs/heads/.hidden',
      'refs/heads/a b',
      'refs/heads/a\u0001b',
      'refs/heads/$(touch marker)',
      'refs/heads/-option',
      'refs/ranvier/x',
      'refs/tags/v1',
      'HEAD',
      '../config',
    ];
    for (const name of names) {
      const said = await send([[NOTHING, sha, name]], packOf([]));
      expect(said, name).to.match(/ng |refused|only branches|hung up|funny/);
      expect(said, name).to.not.match(/\bok (refs|HEAD|\.\.)/);
    }
    const { stdout } = await run('git', ['--git-dir', join(dataDir, 'pushed', `${service.id}.git`), 'for-each-ref'], {
      env: { ...ENVIRONMENT, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' },
    });
    expect(
      stdout.split('\n').filter((line) => line !== '' && !/refs\/heads\/(honest|known|scripts)$/.test(line)),
    ).to.deep.equal([]);
  });

  it('of thousands of refs is refused with the limit, and stores none', async () => {
    const sha = await repository.git('rev-parse', 'HEAD');
    const specs = Array.from({ length: 1500 }, (_, i) => `${sha}:refs/heads/many-${i}`);
    const { code, said } = await push(specs.join(' '));
    expect(code).to.not.equal(0);
    expect(said).to.match(/more than 1000/);
  });

  it('with a pack beyond the bound is refused, also if it claims less', async () => {
    const noise = Buffer.alloc(3 * MIB);
    for (let i = 0; i < noise.length; i += 32) createHash('sha256').update(String(i)).digest().copy(noise, i);
    const made = await tree(entry('100644', 'noise', await store('blob', noise)));
    const { code, said } = await push(`${await commitOf(made)}:refs/heads/large`);
    expect(code).to.not.equal(0);
    expect(said).to.match(/exceeds maximum allowed size|too large|unpack failed/);
  });

  it('with a small pack that stands for very much does not take the memory of the host', async () => {
    const base = Buffer.alloc(16 * MIB - 1);
    const id = createHash('sha1').update(`blob ${base.length}\0`).update(base).digest();
    const copies = 1000;
    // Copies all of the base: offset 0, three bytes of size.
    const copy = Buffer.from([0x80 | 0x10 | 0x20 | 0x40, 0xff, 0xff, 0xff]);
    const delta = Buffer.concat([
      varint(base.length),
      varint(copies * base.length),
      ...Array.from({ length: copies }, () => copy),
    ]);
    const bomb = packOf([
      Buffer.concat([objectHead(3, base.length), deflateSync(base)]),
      Buffer.concat([objectHead(7, delta.length), id, deflateSync(delta)]),
    ]);
    expect(bomb.length, 'the pack is small').to.be.below(MIB);
    const said = await send([[NOTHING, '1'.repeat(40), 'refs/heads/bomb']], bomb);
    expect(said).to.match(/unpack (?!ok)|out of memory|index-pack/);
  });

  it('whose small pack takes minutes to unpack ends soon after its pusher has left', async () => {
    const { hostname, port, pathname } = new URL(url);
    const command = pktLine(`${NOTHING} ${'1'.repeat(40)} refs/heads/slow\0report-status`);
    const body = Buffer.concat([Buffer.from(`${command}0000`), packOf(deltaBomb(600, 4))]);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      `POST ${pathname}/git-receive-pack HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n` +
        `Content-Type: application/x-git-receive-pack-request\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    // This bound identifies the process: no other test's API has it.
    const unpacking = () => processesWith(`--max-input-size=${2 * MIB}`);
    await eventually('git unpacks it', async () => (await unpacking()) !== '');
    socket.destroy();
    await eventually('git has ended', async () => (await unpacking()) === '', 60_000);
  });

  it('with a damaged pack, or one that ends too early, is refused', async () => {
    const sha = await repository.git('rev-parse', 'HEAD');
    const good = packOf([Buffer.concat([objectHead(3, 5), deflateSync(Buffer.from('hello'))])]);
    const flipped = Buffer.from(good);
    flipped.writeUInt8(flipped.readUInt8(14) ^ 0xff, 14);
    for (const pack of [flipped, good.subarray(0, -25), Buffer.from('PACK'), Buffer.from('no pack at all')]) {
      const said = await send([[NOTHING, sha, 'refs/heads/damaged']], pack);
      expect(said).to.match(/unpack (?!ok)|hung up|index-pack|bad|early EOF|^200 $/);
      expect(said).to.not.match(/ok refs\/heads\/damaged/);
    }
  });

  it('of commands without end is refused before they fill the memory, and so is one that is compressed as a whole', async () => {
    const sha = await repository.git('rev-parse', 'HEAD');
    const commands = Array.from(
      { length: 60_000 },
      (_, i) => [NOTHING, sha, `refs/heads/${String(i).padStart(40, '0')}`] as [string, string, string],
    );
    expect(await send(commands, packOf([]))).to.match(/^413 .*larger than/);
    const response = await fetch(`${url.replace(/\/\/[^@]*@/, '//')}/git-receive-pack`, {
      method: 'POST',
      headers: { Authorization: authorization, 'Content-Encoding': 'gzip' },
      body: new Uint8Array(gzipSync(Buffer.alloc(MIB))),
    });
    expect(`${response.status} ${await response.text()}`).to.match(/^400 .*not compressed/);
  });

  it('is read by processes whose memory and processor time are bounded', async () => {
    const { hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    socket.write(
      `POST ${pathname}/git-receive-pack HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n` +
        'Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 100000\r\n\r\n0098',
    );
    const path = join(dataDir, 'pushed', `${service.id}.git`);
    const isReader = (line: string) =>
      line.includes('receive-pack') &&
      readlink(`/proc/${Number.parseInt(line, 10)}/cwd`).then(
        (cwd) => cwd === path,
        () => false,
      );
    const readers = async () => {
      const lines = (await run('ps', ['-eo', 'pid=,args='])).stdout.split('\n');
      const read = await Promise.all(lines.map(isReader));
      return lines.filter((_, i) => read[i]);
    };
    try {
      await eventually('git reads it', async () => (await readers()).length > 0);
      for (const line of await readers()) {
        const limits = await readFile(`/proc/${Number.parseInt(line, 10)}/limits`, 'utf8');
        expect(limits).to.match(/Max cpu time +300 +305/);
        expect(limits).to.match(/Max data size +3221225472 /);
        expect(limits).to.match(/Max core file size +0 /);
      }
    } finally {
      socket.destroy();
    }
  });

  it('that replaced commits hides them from a read key, in each protocol of git', async () => {
    const hidden = await repository.commit('Hidden', { 'secret.txt': 'hidden' });
    expect((await push(`${hidden}:refs/heads/replaced`)).code).to.equal(0);
    const shown = await repository.git('commit-tree', '-m', 'new', 'HEAD^{tree}', '-p', 'HEAD~1');
    expect((await push(`${shown}:refs/heads/replaced`, '-f')).code).to.equal(0);
    const { key } = await newKey(api.db, workspace.id, workspace.owner.email, 'read');
    const from = url.replace(/\/\/[^@]*@/, `//any:${key}@`);
    for (const version of ['0', '1', '2']) {
      const folder = await mkdtemp(join(dataDir, 'fetch-'));
      const git = (...args: string[]) =>
        run('git', ['-C', folder, '-c', `protocol.version=${version}`, ...args], { env: ENVIRONMENT });
      await git('init', '-q');
      const said = await git('fetch', from, hidden).then(
        () => 'it was given out',
        ({ stderr }: { stderr: string }) => stderr,
      );
      expect(said, version).to.match(/not our ref|unadvertised object/);
      await git('fetch', '-q', from, 'refs/heads/replaced');
    }
  });

  it('whose body stops in the middle gives its place back', async () => {
    const { hostname, port, pathname } = new URL(url);
    const sockets = new Set<Socket>();
    const push = () => {
      const socket = connect(Number(port), hostname);
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      // An answer means that the push was refused, so its socket makes way for another push.
      socket.on('data', () => socket.destroy());
      socket.write(
        `POST ${pathname}/git-receive-pack HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n` +
          'Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 100000\r\n\r\n0098',
      );
    };
    // The probe is no push: on a busy machine, a push can take longer than the platform waits for the bodies.
    const probe = () =>
      fetch(`${url.replace(/\/\/[^@]*@/, '//')}/info/refs?service=git-receive-pack`, {
        headers: { Authorization: authorization },
        signal: AbortSignal.timeout(2000),
      }).then((response) => response.text());
    try {
      await eventually('the places are taken', async () => {
        // On a busy machine, pushes may end by the platform's time limit before the first probe is answered.
        while (sockets.size < 12) push();
        return (await probe()).includes('Too many');
      });
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await eventually('a push goes through', pushed);
  });

  it('whose pusher is gone before git begins gives its place back', async () => {
    const { hostname, port, pathname } = new URL(url);
    // Each request is complete, because the platform notices a cut one by its missing rest.
    const request =
      `POST ${pathname}/git-receive-pack HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n` +
      'Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 4\r\n\r\n0000';
    const send = () =>
      new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname);
        socket.on('error', () => undefined).once('close', () => resolve());
        socket.write(request, () => socket.resetAndDestroy());
      });
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 8 }, send));
    await eventually('a push goes through', pushed);
  });
});
