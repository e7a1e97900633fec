import { request } from 'node:http';
import { connect } from 'node:net';
import { isHealthyStatus } from './decide-readiness.js';

const ANSWER_MS = 2_000;

export interface Target {
  address: string;
  port: number;
  /** The path to request; '' to only open a connection. */
  path: string;
  /** The Host header. An application may refuse all other names. */
  host: string;
}

/** `answer` explains a failure to the user who deployed. */
export type Health = { healthy: true } | { healthy: false; kind: 'no-answer' | 'bad-answer'; answer: string };

/** Runs one health check. Never rejects. Without a path, it passes if the port accepts a connection. */
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

async function checkPath(target: Target): Promise<Health> {
  const status = await statusOf(target, ANSWER_MS);
  if (typeof status === 'string') return noAnswer(status);
  if (isHealthyStatus(status)) return { healthy: true };
  return { healthy: false, kind: 'bad-answer', answer: `GET ${target.path} answered ${status}, expected 2xx or 3xx` };
}

/** Sends a GET, and resolves to the status, or to the reason if there was none. Never rejects. */
export function statusOf({ address, port, path, host }: Target, ms: number): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = { host, 'user-agent': 'ranvier-health', connection: 'close' };
    const asked = request({ host: address, port, path, headers, agent: false }, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    const timer = setTimeout(() => {
      resolve(`GET ${path} got no answer within ${ms / 1000} s`);
      asked.destroy();
    }, ms);
    asked.once('close', () => clearTimeout(timer));
    asked.on('error', (error) => resolve(reasonOf(error)));
    asked.end();
  });
}

function noAnswer(answer: string): Health {
  return { healthy: false, kind: 'no-answer', answer };
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNREFUSED') return 'connection refused';
  return code === 'ECONNRESET' ? 'the connection was closed without an answer' : message;
}
