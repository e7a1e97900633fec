import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { RedisReplica } from '../../../../workers/backups/redis-replica.js';
import { listen } from '../../../support/http.js';
import { failureOf, messageOf } from '../../../support/outcomes.js';

const USER = { user: 'platform', password: 'the password' };
const AUTH = '*3\r\n$4\r\nAUTH\r\n$8\r\nplatform\r\n$12\r\nthe password\r\n';
const SYNC = '*1\r\n$4\r\nSYNC\r\n';

/** Simulates a Redis server, which sends the next answer for each request. */
describe('A connection for a snapshot of redis', () => {
  let server: Server;
  let port: number;
  let received: string;
  let answers: string[];
  const sockets: Socket[] = [];

  beforeEach(async () => {
    [received, answers] = ['', []];
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        received += chunk.toString();
        socket.write(answers.shift() ?? '');
      });
    });
    port = await listen(server);
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });

  const connect = (signal = new AbortController().signal) =>
    RedisReplica.connect({ host: '127.0.0.1', port, ...USER }, signal);

  it('signs in, and reads the size after empty lines, then the snapshot', async () => {
    answers = ['+OK\r\n', '\n\n$11\r\nREDIS'];
    const replica = await connect();
    replica.sync();
    expect(await replica.size()).to.equal(11);
    expect(received).to.equal(AUTH + SYNC);
    expect(String(await replica.piece())).to.equal('REDIS');
    sockets[0]?.write('0011 x');
    expect(String(await replica.piece())).to.equal('0011 x');
    replica.close();
  });

  it('is refused if the server does not take the user', async () => {
    answers = ['-WRONGPASS invalid username\r\n'];
    expect(await messageOf(connect())).to.match(/refuses the platform's user: -WRONGPASS/);
  });

  it('fails if the server sends something else than a size, or a line without end', async () => {
    for (const [answer, said] of [
      ['-ERR no snapshot\r\n', /BackupError: the server sends no snapshot: -ERR no snapshot/],
      ['$12x\r\n', /sends no snapshot/],
      ['x'.repeat(5000), /answers in no known way/],
    ] as const) {
      answers = ['+OK\r\n', answer];
      const replica = await connect();
      replica.sync();
      expect(String(await failureOf(replica.size())), answer.slice(0, 20)).to.match(said);
      replica.close();
    }
  });

  it('ends with an error if the server closes it, or if the copy is given up', async () => {
    answers = ['+OK\r\n'];
    const closed = await connect();
    sockets[0]?.end();
    expect(await messageOf(closed.size())).to.match(/closed the connection/);
    answers = ['+OK\r\n'];
    const copy = new AbortController();
    const given = await connect(copy.signal);
    copy.abort();
    expect(await messageOf(given.size())).to.match(/the copy was given up/);
  });
});
