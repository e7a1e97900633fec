import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePorts, PlatformProcess } from './processes.js';

export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

export interface TestRedis {
  url: string;
  port: number;
  dir: string;
  /** Kills the server and starts it again with its data. */
  restart(): Promise<void>;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a new redis-server with an append-only file, as in production. */
export async function startRedis(): Promise<TestRedis> {
  const [port = 0] = await freePorts(1);
  const dir = await mkdtemp(join(tmpdir(), 'ranvier-redis-'));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--appendonly', 'yes', '--save', ''];
  const start = async () => {
    const server = new PlatformProcess('redis-server', 'redis-server', args, { PATH: '/usr/local/bin:/usr/bin:/bin' });
    await server.ready(() => accepts(port));
    return server;
  };
  let server = await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dir,
    async restart() {
      await server.stop('SIGKILL');
      server = await start();
    },
    async flush() {
      const client = new Redis(port, '127.0.0.1');
      await client.flushall();
      client.disconnect();
    },
    async stop() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
