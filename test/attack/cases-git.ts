import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createService, ended, queueDeploy } from '../support/deployments.js';
import { listen } from '../support/http.js';
import { messageOf } from '../support/outcomes.js';
import { deltaBomb, idOf, packed, packOf, pktLine, TYPE } from '../support/packs.js';
import { createPlatformRepository } from '../support/repositories.js';
import { memoryOf } from './books.js';
import { apiMemory } from './cases-callers.js';
import { type CaseContext, type HostileCase, harmed, hostileCase, unless } from './hostile-case.js';
import { hold } from './hostile-clients.js';
import { git, gitUrl } from './ordinary-mix.js';

const MAX_GIT_KB = 1_280 * 1024;
const MAX_GROWTH_KB = 64 * 1024;
const COMMANDS_BYTES = 48 * 1024 ** 2;
/** A git process of the platform must end within this time after its client disconnected. */
const GONE_MS = 20_000;
const NOTHING = '0'.repeat(40);
const TREE = Buffer.alloc(0);
const COMMIT = Buffer.from(
  `tree ${idOf('tree', TREE).toString('hex')}\nauthor a <a@b.c> 1 +0000\ncommitter a <a@b.c> 1 +0000\n\nBomb\n`,
);
const SHA = idOf('commit', COMMIT).toString('hex');
const packWith = (bomb: Buffer[]) => packOf([packed(TYPE.commit, COMMIT), packed(TYPE.tree, TREE), ...bomb]);

async function serve(pack: Buffer): Promise<{ url: string; packs: () => number; server: Server }> {
  let packs = 0;
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      const able = 'shallow no-progress allow-tip-sha1-in-want allow-reachable-sha1-in-want';
      response.setHeader('content-type', 'application/x-git-upload-pack-advertisement');
      const refs = `${pktLine(`${SHA} HEAD\0${able}\n`)}${pktLine(`${SHA} refs/heads/main\n`)}0000`;
      return response.end(`${pktLine('# service=git-upload-pack\n')}0000${refs}`);
    }
    let asked = '';
    for await (const chunk of request) asked += chunk;
    response.setHeader('content-type', 'application/x-git-upload-pack-result');
    response.write(`${pktLine(`shallow ${SHA}`)}0000`);
    if (!asked.includes('done')) return response.end();
    packs += 1;
    response.write(pktLine('NAK\n'));
    response.end(pack);
  });
  return { url: `http://127.0.0.1:${await listen(server)}/x.git`, packs: () => packs, server };
}

async function gitBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!/^(\S*\/)?git/.test(command)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (`${command}${environment}`.includes(folder)) found.push(pid);
  }
  return found;
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return `${pid}, which has ended`;
  }
}

async function watchGit(folder: string, stop: AbortSignal): Promise<number> {
  let most = 0;
  while (!stop.aborted) {
    for (const pid of await gitBelow(folder)) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      most = Math.max(most, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
    }
    await delay(100);
  }
  return most;
}

/** Creates a service that is deployed by `git push`. Returns its repository, and a sender of git's requests. */
async function pushed({ platform, tenants: [{ client }] }: CaseContext, name: string) {
  const service = await createService(client, { name, configuration: { sourceType: 'push' } });
  const authorization = `Basic ${Buffer.from(`any:${client.key}`).toString('base64')}`;
  const post = (path: string, body: NonNullable<RequestInit['body']>, signal: AbortSignal): Promise<Response> =>
    fetch(`http://127.0.0.1:${platform.apiPort}/git/${client.workspaceId}/${name}.git/${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': `application/x-${path}-request` },
      body,
      signal,
      ...({ duplex: 'half' } as object),
    });
  const folder = `${platform.dataDir}/pushed/${service.id}.git`;
  return { service, authorization, post, folder, url: gitUrl(platform, client, name) };
}

export const GIT: readonly HostileCase[] = [
  hostileCase({
    name: 'clone: a pack that stands for 1.6 GiB',
    rule: 3,
    run: async ({ platform, tenants: [{ client }], signal }) => {
      const bomb = await serve(packWith(deltaBomb(1, 100)));
      const stop = new AbortController();
      const memory = watchGit(platform.dataDir, stop.signal);
      try {
        const { id } = await createService(client, { name: 'bomb', configuration: { repository: bomb.url } });
        const { error } = await ended(client, id, (await queueDeploy(client, id)).id, 90_000);
        stop.abort();
        return { packs: bomb.packs(), memory: await memory, error };
      } finally {
        stop.abort();
        bomb.server.close();
        signal.throwIfAborted();
      }
    },
    check: ({ packs, memory, error }) =>
      unless(
        packs <= 1 && memory < MAX_GIT_KB,
        `git used ${memory} KB; ${packs} packs were fetched; ${error.slice(0, 99)}`,
      ),
  }),
  hostileCase({
    name: 'push: a bomb of deltas whose client leaves',
    rule: 3,
    run: async (context) => {
      const { post, folder } = await pushed(context, 'delta-bomb');
      const command = pktLine(`${NOTHING} ${SHA} refs/heads/side\0report-status`);
      const body = Buffer.concat([Buffer.from(`${command}0000`), packWith(deltaBomb(600, 4))]);
      await post('git-receive-pack', new Uint8Array(body), AbortSignal.timeout(4_000)).catch(() => undefined);
      const deadline = Date.now() + GONE_MS;
      let left = await gitBelow(folder);
      while (left.length > 0 && Date.now() < deadline) {
        await delay(500);
        left = await gitBelow(folder);
      }
      return left;
    },
    check: (left) => {
      const commands = left.map((pid) => commandOf(pid)).join('; ');
      // Left-over processes would slow down every later case, so they are killed.
      for (const pid of left) process.kill(Number(pid), 'SIGKILL');
      return unless(left.length === 0, `processes of git go on ${GONE_MS} ms after their client left: ${commands}`);
    },
  }),
  hostileCase({
    name: 'push: 48 MiB of commands before the pack',
    rule: 3,
    short: true,
    run: async (context) => {
      const { post } = await pushed(context, 'many-commands');
      const before = apiMemory(await memoryOf(context.platform));
      let most = before;
      async function* commands() {
        for (let sent = 0, i = 0; sent < COMMANDS_BYTES; i++) {
          const sha = createHash('sha1').update(String(i)).digest('hex');
          const lines = Array.from({ length: 500 }, (_, n) => pktLine(`${NOTHING} ${sha} refs/heads/b${i}-${n}`)).join(
            '',
          );
          sent += lines.length;
          most = Math.max(most, apiMemory(await memoryOf(context.platform)));
          yield new TextEncoder().encode(lines);
        }
      }
      const stream = ReadableStream.from(commands());
      const answer = await post('git-receive-pack', stream, AbortSignal.timeout(20_000)).then(
        ({ status }) => String(status),
        (error: Error) => error.message,
      );
      return { answer, grown: Math.max(most, apiMemory(await memoryOf(context.platform))) - before };
    },
    check: ({ answer, grown }) => unless(grown < MAX_GROWTH_KB, `the API grew by ${grown} KB; it answered ${answer}`),
  }),
  hostileCase({
    name: 'fetch: clients that do not read',
    rule: 2,
    short: true,
    run: async (context) => {
      const { url, authorization } = await pushed(context, 'slow-fetch');
      const repository = await createPlatformRepository({ a: 'a' });
      try {
        const text = randomBytes(6 * 1024 ** 2).toString('base64');
        const sha = await repository.commit('Large', { large: text });
        await git(repository.folder, 'push', '-q', url, 'HEAD:refs/heads/side');
        const begun = Date.now();
        const body = `${pktLine(`want ${sha} no-progress\n`)}0000${pktLine('done\n')}`;
        const head = [
          `POST ${new URL(url).pathname}/git-upload-pack HTTP/1.1`,
          'Host: localhost',
          `Authorization: ${authorization}`,
          'Content-Type: application/x-git-upload-pack-request',
          `Content-Length: ${body.length}`,
        ].join('\r\n');
        await hold(context.platform.apiPort, 24, `${head}\r\n\r\n${body}`, context.signal);
        return begun;
      } finally {
        await repository.remove();
      }
    },
    check: (begun, context) => harmed(context, 'git fetch', begun, 10_000),
  }),
  hostileCase({
    name: 'fetch: a commit that no branch shows, by protocol 2',
    rule: 0,
    short: true,
    run: async (context) => {
      const { url } = await pushed(context, 'hidden');
      const repository = await createPlatformRepository({ secret: 'a password' });
      const reader = await createPlatformRepository({ a: 'a' });
      try {
        const hidden = await repository.git('rev-parse', 'HEAD');
        await git(repository.folder, 'push', '-q', url, 'HEAD:refs/heads/side');
        await repository.git('commit', '-q', '--amend', '-m', 'Without the password');
        await git(repository.folder, 'push', '-q', '-f', url, 'HEAD:refs/heads/side');
        const fetching = git(reader.folder, '-c', 'protocol.version=2', 'fetch', '-q', url, hidden);
        return await messageOf(fetching);
      } finally {
        await Promise.all([repository.remove(), reader.remove()]);
      }
    },
    check: (refused) => unless(/not our ref|not advertised|unadvertised/.test(refused), `it was fetched: ${refused}`),
  }),
];
