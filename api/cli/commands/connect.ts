import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { ApiClient } from '../api-client.js';
import type { Service } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { deliver, openSocket, sendAll } from '../remote-socket.js';

export interface ConnectOptions {
  /** The local port. If it is absent, a free port is chosen. */
  port?: number;
  to?: number;
}

interface Credentials {
  user: string;
  password: string;
  database: string;
}

/** Forwards a local port to a service in its private network, until Ctrl-C. */
export async function connect(cli: Cli, name: string | undefined, options: ConnectOptions): Promise<void> {
  const service = await cli.service(name);
  const server = await listen(cli, service, options);
  const { port } = server.address() as AddressInfo;
  if (cli.json) cli.terminal.json({ host: '127.0.0.1', port });
  else {
    cli.terminal.data(`127.0.0.1:${port}`);
    for (const line of hintsOf(service, port)) cli.terminal.say(line);
    cli.terminal.say('Press Ctrl-C to close it.');
  }
  await new Promise<void>((resolve) => cli.signal.addEventListener('abort', () => resolve(), { once: true }));
  server.close();
}

function hintsOf({ kind, internalHost }: Service, port: number): string[] {
  if (kind === 'postgres')
    return [
      `  psql -h 127.0.0.1 -p ${port} -U <user> <database>`,
      `or, with its credentials: rnv psql ${internalHost}`,
    ];
  if (kind === 'redis') return [`  redis-cli -p ${port}`, `or, with its credentials: rnv redis-cli ${internalHost}`];
  return [`  curl http://127.0.0.1:${port}/`];
}

/** Runs the local psql, connected to a database of the workspace. Exits with psql's exit code. */
export async function psql(cli: Cli, name: string, words: readonly string[]): Promise<void> {
  await runClient(cli, { name, kind: 'postgres', program: 'psql' }, ({ user, password, database }, port) => ({
    args: ['-h', '127.0.0.1', '-p', String(port), '-U', user, '-d', database, ...words],
    env: { PGPASSWORD: password },
  }));
}

export async function redisCli(cli: Cli, name: string, words: readonly string[]): Promise<void> {
  await runClient(cli, { name, kind: 'redis', program: 'redis-cli' }, ({ user, password }, port) => ({
    args: ['-h', '127.0.0.1', '-p', String(port), '--user', user, ...words],
    env: { REDISCLI_AUTH: password },
  }));
}

async function runClient(
  cli: Cli,
  { name, kind, program }: { name: string; kind: Service['kind']; program: string },
  commandOf: (credentials: Credentials, port: number) => { args: readonly string[]; env: NodeJS.ProcessEnv },
): Promise<void> {
  const service = await cli.serviceNamed(name);
  if (service.kind !== kind) throw new CliError(EXIT.usage, `${name} is of kind ${service.kind}, not ${kind}`);
  const api = await cli.client();
  const path = `/services/${service.id}/credentials`;
  const { credentials } = await api.write<{ credentials: Credentials }>('POST', path);
  const server = await listen(cli, service, {});
  try {
    const { args, env } = commandOf(credentials, (server.address() as AddressInfo).port);
    const child = spawn(program, args, { stdio: 'inherit', env: { ...cli.env, ...env } });
    // Waits without `cli.signal`: the client program gets Ctrl-C from the terminal too, and handles it itself.
    const [code] = await once(child, 'exit').catch(() => {
      throw new CliError(EXIT.usage, `This computer has no ${program}. Install it, or use rnv connect`);
    });
    if (code !== 0) throw new CliError(typeof code === 'number' ? code : EXIT.interrupted, '');
  } finally {
    server.close();
  }
}

async function listen(cli: Cli, service: Service, { port = 0, to }: ConnectOptions): Promise<Server> {
  const api = await cli.client();
  const path = `/services/${service.id}/tunnels`;
  const prepare = async () =>
    (await api.write<{ tunnel: { address: string } }>('POST', path, to === undefined ? {} : { port: to })).tunnel;
  let tunnel = await prepare();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.pause();
    socket.on('error', () => socket.destroy());
    carry(api, tunnel.address, socket)
      .catch(async () => {
        // The replica was replaced or the tunnel's ticket has expired, so a new tunnel is opened.
        tunnel = await prepare();
        await carry(api, tunnel.address, socket);
      })
      .catch((error: Error) => {
        cli.terminal.complain(error.message);
        socket.destroy();
      });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.usage, `The port ${port} cannot be used: ${error.code}. Choose another one with --port`);
  });
  cli.signal.addEventListener('abort', () => server.close(), { once: true });
  return server;
}

/** WebSocket close code for a replica that was stopped, or a port on which nothing listens. */
const NOT_FOUND = 4404;

/** Forwards bytes between a local connection and the tunnel at `address`. Rejects if the tunnel cannot be opened. */
async function carry(api: ApiClient, address: string, socket: Socket): Promise<void> {
  const tunnel = await openSocket(api, address);
  let taken = 0;
  tunnel.on('message', (data: Buffer, isBinary: boolean) => {
    if (!isBinary) return void socket.end();
    taken += data.length;
    deliver(data, socket, tunnel);
  });
  socket.once('close', () => tunnel.close());
  tunnel.once('close', (code: number) => {
    if (code === 1000) socket.end();
    else socket.destroy(taken === 0 && code === NOT_FOUND ? new Error('nothing listens there') : undefined);
  });
  sendAll(socket, tunnel);
  socket.resume();
}
