import { request } from 'node:http';
import { connect } from 'node:net';

const ANSWER_MS = 2_000;

export interface Target {
  address: string;
  port: number;
  /** '' where a connection that is accepted is enough. */
  path: string;
  /** The name the service is called by: applications may answer no other. */
  host: string;
}

/** What a health check found: `answer` is for a person and follows "GET /path" or stands alone. */
export type Health = { healthy: true } | { healthy: false; kind: 'no-answer' | 'bad-answer'; answer: string };

/** Asks once. An answer of 2xx or 3xx is healthy; without a path, so is an accepted connection. */
export function checkHealth(target: Target): Promise<Health> {
  return target.path === '' ? checkPort(target) : checkPath(target);
}

function checkPort({ address, port }: Target): Promise<Health> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    const end = (health: Health) => {
      socket.destroy();
      resolve(health);
    };
    socket.setTimeout(ANSWER_MS, () => end(noAnswer(`no answer within ${ANSWER_MS / 1000} s`)));
    socket.once('connect', () => end({ healthy: true }));
    socket.once('error', (error) => end(noAnswer(reasonOf(error))));
  });
}

function checkPath({ address, port, path, host }: Target): Promise<Health> {
  return new Promise((resolve) => {
    const headers = { host, 'user-agent': 'ranvier-health', connection: 'close' };
    const asked = request({ host: address, port, path, headers, agent: false }, (response) => {
      const status = response.statusCode ?? 0;
      response.destroy();
      resolve(status >= 200 && status < 400 ? { healthy: true } : badAnswer(path, status));
    });
    const timer = setTimeout(() => {
      resolve(noAnswer(`GET ${path} got no answer within ${ANSWER_MS / 1000} s`));
      asked.destroy();
    }, ANSWER_MS);
    asked.once('close', () => clearTimeout(timer));
    asked.on('error', (error) => resolve(noAnswer(reasonOf(error))));
    asked.end();
  });
}

function badAnswer(path: string, status: number): Health {
  return { healthy: false, kind: 'bad-answer', answer: `GET ${path} answered ${status}, expected 2xx or 3xx` };
}

function noAnswer(answer: string): Health {
  return { healthy: false, kind: 'no-answer', answer };
}

function reasonOf(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'ECONNRESET':
      return 'the connection was closed without an answer';
    default:
      return error.message;
  }
}
