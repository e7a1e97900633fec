import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import { MAX_USERS_OF_WORKSPACE } from '../../shared/services/user-numbers.js';
import { nodeServer } from '../support/apps.js';
import { Browser } from '../support/browser.js';
import { createService } from '../support/deployments.js';
import { makeUser } from '../support/factories.js';
import { Rnv } from '../support/rnv.js';
import { type HostileCase, harmed, hostileCase, NOT_LIVE, unless } from './hostile-case.js';

const PASSWORD = 'correct horse battery staple';
const INTRUDERS = 6;
const NOWHERE = 'https://git.example.test/none.git';
/** The edge sends all answers of one connection within this time. */
const QUIET_MS = 2_000;
/** How long the edge may take to close a connection on request, on a busy machine. */
const CLOSE_MS = 20_000;

/** An application that sends two answers to `/two`, and a third one later. */
const LIAR = `require('node:net').createServer((socket) => {
    const answer = (text) => 'HTTP/1.1 200 OK\\r\\nContent-Length: ' + text.length + '\\r\\n\\r\\n' + text;
    socket.on('error', () => {}).on('data', (request) => {
      socket.write(answer('mine'));
      if (request.includes(' /two ')) { socket.write(answer('not yours')); setTimeout(() => socket.write(answer('not yours')), 20); }
    });
  }).listen(process.env.PORT);`;

/** Headers that hide a second request in the body of a first one (request smuggling). */
const HIDING = [
  'Content-Length: 0\r\nTransfer-Encoding: chunked\r\n',
  'Content-Length: 0\r\nContent-Length: 60\r\n',
  'Content_Length: 60\r\nContent-Length: 0\r\n',
  'Transfer-Encoding: , chunked\r\n',
  'Transfer-Encoding:\r\n chunked\r\n',
  'Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 60\r\n',
  'X: a\nTransfer-Encoding: chunked\r\n',
];

/** Sends raw bytes to the edge, and returns everything that it answers before it closes, or within `waitMs`. */
async function exchange(port: number, text: string, waitMs = QUIET_MS): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('error', () => undefined).on('data', (chunk) => (answer += chunk.toString('latin1')));
  socket.write(text, 'latin1');
  await Promise.race([new Promise((resolve) => socket.once('close', resolve)), delay(waitMs)]);
  socket.destroy();
  return answer;
}

/** Attacks by accounts, by domain names and by visitors. */
export const OUTSIDE: readonly HostileCase[] = [
  hostileCase({
    name: 'edge: answers and requests within others, on connections that two tenants share',
    rule: 0,
    short: true,
    run: async ({ tenants: [tenant], signal }) => {
      const begun = Date.now();
      let tried = 0;
      const wrong: string[] = [];
      await tenant.host({ ...nodeServer(''), 'server.js': LIAR }, {}, signal, async (liar) => {
        const [own, victim] = [liar, tenant.victim].map(({ url }) => `Host: ${new URL(url).host}\r\n`);
        const next = `GET / HTTP/1.1\r\n${victim}Connection: close\r\n\r\n`;
        for (let i = 0; i < 20; i++) {
          const text = await exchange(tenant.edgePort, `GET /two HTTP/1.1\r\n${own}\r\n${next}`, CLOSE_MS);
          tried += 1;
          if (!text.endsWith('\r\n\r\nordinary') || text.split('HTTP/1.1 ').length !== 3)
            wrong.push(`after two answers: ${text.slice(-80)}`);
        }
        for (const header of HIDING) {
          const hidden = `GET /hidden HTTP/1.1\r\n${own}X: `;
          const text = await exchange(tenant.edgePort, `POST / HTTP/1.1\r\n${victim}${header}\r\n0\r\n\r\n${hidden}`);
          tried += 1;
          if (text.includes('mine')) wrong.push(`${JSON.stringify(header)} was read in two ways`);
        }
      });
      return { begun, tried, wrong };
    },
    check: ({ begun, tried, wrong }, context) =>
      tried === 0 ? NOT_LIVE : wrong[0] || harmed(context, 'visit', begun, 5_000),
  }),
  hostileCase({
    name: 'services: one workspace takes all user numbers',
    rule: 2,
    short: true,
    run: async ({ platform: { database }, tenants: [{ client }] }) => {
      const { db } = database;
      const begun = Date.now();
      const { workspaceId } = client;
      // As if the tenant had created and deleted this many services. The user ids are above those that services get.
      await db.raw(
        `insert into freed_user_numbers (number, workspace_id, free_from)
         select 190000 + n, ?, now() + interval '1 hour' from generate_series(1, ?) n`,
        [workspaceId, MAX_USERS_OF_WORKSPACE],
      );
      try {
        const body = { name: 'one-more', kind: 'web', configuration: { repository: NOWHERE } };
        const { status } = await client.call('POST', '/services', body);
        await delay(QUIET_MS);
        return { status, begun };
      } finally {
        await db('freed_user_numbers').where({ workspace_id: workspaceId }).where('number', '>', 190_000).delete();
      }
    },
    check: ({ status, begun }, context) =>
      unless(status >= 400 && status < 500, `it answered ${status}`) || harmed(context, 'write', begun, 5_000),
  }),
  hostileCase({
    name: 'sign-in: an intruder signs in while a second factor is turned on',
    rule: 0,
    short: true,
    run: async ({ platform: { database, apiPort } }) => {
      const url = `http://127.0.0.1:${apiPort}`;
      const email = `owner-${Date.now()}@example.test`;
      await makeUser(database.db, { email, password: PASSWORD });
      const owner = new Browser(url, { 'X-Forwarded-For': '198.51.100.200' });
      await owner.signIn(email, PASSWORD);
      const { body } = await owner.post('/api/session/mfa', { password: PASSWORD });
      const code = new TOTP({ secret: Secret.fromBase32(body.secret) }).generate();
      const intruders = Array.from({ length: INTRUDERS }, (_, i) => {
        return new Browser(url, { 'X-Forwarded-For': `198.51.100.${201 + i}` });
      });
      const entering = intruders.map(async (intruder, i) => {
        await delay(i * 40);
        await intruder.signIn(email, PASSWORD).catch(() => undefined);
      });
      await delay(100);
      const { status } = await owner.post('/api/session/mfa/confirm', { code });
      await Promise.all(entering);
      const left = await Promise.all(intruders.map(async (intruder) => (await intruder.bootstrap()).user));
      return { status, left: left.filter((user) => user !== null).length };
    },
    check: ({ status, left }) =>
      unless(status === 200 && left === 0, `the factor was answered with ${status}; ${left} sessions without it go on`),
  }),
  hostileCase({
    name: 'rnv: insteadOf leads a push to another host',
    rule: 0,
    run: async ({ tenants: [{ client, apiPort }] }) => {
      const given: string[] = [];
      const foreign = createServer((request, response) => {
        given.push(request.headers.authorization ?? '');
        response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
      }).listen(0, '127.0.0.1');
      const rnv = await Rnv.create();
      const folder = await mkdtemp(join(tmpdir(), 'ranvier-up-'));
      try {
        await createService(client, { name: 'instead', configuration: { sourceType: 'push' } });
        const { port } = foreign.address() as AddressInfo;
        const rule = `[url "http://127.0.0.1:${port}/"]\n\tinsteadOf = "http://"\n\tpushInsteadOf = "http://"\n`;
        await writeFile(join(rnv.home, '.gitconfig'), rule);
        await writeFile(join(folder, 'a'), 'a');
        execFileSync('git', ['init', '-q', '-b', 'main', folder]);
        const env = { RNV_URL: `http://127.0.0.1:${apiPort}`, RNV_KEY: client.key };
        const { stderr } = await rnv.run(['up', '--service', 'instead', '--detach'], { cwd: folder, env });
        return { given, stderr };
      } finally {
        foreign.close();
        await rnv.remove();
        await rm(folder, { recursive: true, force: true });
      }
    },
    check: ({ given, stderr }) =>
      unless(given.every((header) => header === '') && /push/i.test(stderr), `${given.length} requests: ${stderr}`),
  }),
  hostileCase({
    name: 'API: names of branches that are options, sequences or pages',
    rule: 4,
    short: true,
    run: async ({ tenants: [{ client }] }) => {
      const names = ['--upload-pack=id', 'a\u001b[31m', 'a..b', 'a b', '<img src=x>', 'refs/heads/\u202ea', '@{1}'];
      const answers = await Promise.all(
        names.map((branch) =>
          client.call('POST', '/services', {
            name: 'branch',
            kind: 'web',
            configuration: { repository: NOWHERE, branch },
          }),
        ),
      );
      return answers.map(({ status }, i) => `${names[i]}: ${status}`);
    },
    check: (answers) => {
      const kept = answers.filter((answer) => !/: 4\d\d$/.test(answer));
      return unless(kept.length === 0, `kept: ${JSON.stringify(kept)}`);
    },
  }),
];
