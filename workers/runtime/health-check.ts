import { request } from 'node:http';
import { connect } from 'node:net';
import { isHealthyStatus } from './readiness.js';

/** The longest that an answer may take, in milliseconds. */
const ANSWER_MS = 2_000;

export interface Target {
  address: string;
  port: number;
  /** '' if an accepted connection is enough. */
  path: string;
  /** The Host header. An application may refuse every name but its service's own. */
  host: string;
}

/** The result of one check. `answer` explains a failure to the person who deployed. */
export type Health = { healthy: true } | { healthy: false; kind: 'no-answer' | 'bad-answer'; answer: string };

/**
 * Runs one health check. It passes if the path answers 2xx or 3xx within 2 s or, without a path, if the port accepts a
 * connection. Never rejects.
 */
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
      resolve(isHealthyStatus(status) ? { healthy: true } : badAnswer(path, status));
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
