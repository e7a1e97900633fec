import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable, Transform, Writable } from 'node:stream';
import { AppError, errorMessage } from '../../shared/core/error-registry.js';
import { endChild } from '../../shared/core/limited-child.js';
import { onAbort } from '../../shared/core/on-abort.js';
import { recordPushed } from '../../shared/pushes/store.js';
import type { ApiContext } from '../http/request-state.js';
import { type BodyLimits, boundedBody, FETCH_LIMITS, pushLimits, watchPace } from './client-bounds.js';
import { endPush } from './end-push.js';
import { gitEnvironment, type Settings, spawnBackend } from './git-process.js';
import { HookChannel } from './hook-channel.js';
import { PUSHES_BEFORE_PACKING, type PushedRepositories, type PushedRepository } from './pushed-repositories.js';
import { type Afterwards, type Push, type PushDeps, receivePush } from './receive-push.js';

export interface Exchange {
  ctx: ApiContext;
  rest: string;
  query: string;
  repository: PushedRepository;
  /** Aborts if this request is cancelled to make room for a request of another workspace. */
  signal: AbortSignal;
}

const MAX_HEAD_BYTES = 16 * 1024;
const END_OF_HEAD = '\r\n\r\n';
const MAX_ERROR_BYTES = 4096;

/** Refs below `refs/ranvier` are internal to the platform. */
const COMMON: Settings = [
  ['transfer.hideRefs', 'refs/ranvier'],
  ['http.getanyfile', 'false'],
];

/** Harmless faults in old commits of many projects. They must not make a push fail. */
const LENIENT: Settings = ['zeroPaddedFilemode', 'missingSpaceBeforeDate', 'badTimezone'].map(
  (name) => [`receive.fsck.${name}`, 'ignore'] as const,
);

/** Serves a fetch or clone. Offers version 2 of git's protocol, which serves any object, only with `anyCommit`. */
export async function fetchFrom(
  { log }: Pick<PushDeps, 'log'>,
  exchange: Exchange,
  { anyCommit }: { anyCommit: boolean },
): Promise<void> {
  const settings: Settings = [
    ...COMMON,
    ['http.receivepack', 'false'],
    ['uploadpack.allowAnySHA1InWant', String(anyCommit)],
    ['uploadpack.allowFilter', 'false'],
  ];
  const child = spawnBackend(environmentOf(exchange, settings, anyCommit));
  exchange.ctx.res.once('close', () => endChild(child));
  const [, end] = await Promise.all([pump(exchange, child, FETCH_LIMITS), ended(child)]);
  if (end !== '') log.debug({ git: end }, 'git says at the end of a fetch');
}

/** How long git may continue unpacking a push after the pusher disconnected. */
const UNPACKS_ALONE_MS = 10_000;

/** Serves a push. A completely received push is deployed even if the connection is lost. */
export async function pushTo(
  deps: PushDeps,
  exchange: Exchange,
  { push, repositories }: { push: Push; repositories: PushedRepositories },
): Promise<void> {
  const settings: Settings = [
    ...COMMON,
    ...LENIENT,
    ['http.receivepack', 'true'],
    ['http.uploadpack', 'false'],
    ['receive.procReceiveRefs', 'refs/heads'],
    ['receive.advertisePushOptions', 'true'],
    ['receive.advertiseAtomic', 'false'],
    ['receive.shallowUpdate', 'true'],
    ['receive.fsckObjects', 'true'],
    ['receive.maxInputSize', String(deps.config.pushMaxBytes)],
    ['receive.autogc', 'false'],
    ['receive.keepAlive', '5'],
  ];
  if (!['', 'identity'].includes(exchange.ctx.get('Content-Encoding')))
    throw new AppError('invalid_request', 'A push is not compressed as a whole; its pack is');
  const child = spawnBackend(environmentOf(exchange, settings, true));
  const limits = pushLimits(deps.config.pushMaxBytes);
  if (exchange.rest === 'info/refs') {
    await Promise.all([pump(exchange, child, limits), ended(child)]);
    return;
  }
  const answered = pump(exchange, child, limits, endPush);
  const received = receive(deps, push, child, endsAlone(exchange.ctx.req.socket, child));
  const [, said, done] = await Promise.all([answered, ended(child), received]).finally(() => push.repository.release());
  if (said !== '') deps.log.debug({ git: said }, 'git says at the end of a push');
  if (done === null) return;
  await done.afterwards().catch((error: unknown) => {
    deps.log.warn(
      { serviceId: push.service.id },
      `a push is not settled yet, it is tried again: ${errorMessage(error)}`,
    );
  });
  await repositories.tidy(push.service.id, done.pushes >= PUSHES_BEFORE_PACKING);
}

/**
 * Aborts a push that is unpacked too long after its client disconnected, because a small pack can expand to hours of
 * work. Returns a function that cancels the abort.
 */
function endsAlone(socket: Socket, child: ChildProcess): () => void {
  let timer: NodeJS.Timeout | undefined;
  const left = () => {
    timer = setTimeout(() => endPush(child), UNPACKS_ALONE_MS);
  };
  const stay = () => {
    clearTimeout(timer);
    socket.off('close', left);
  };
  child.once('exit', stay);
  if (socket.destroyed) left();
  else socket.once('close', left);
  return stay;
}

/** Returns null if git refused the push or the push broke off. Calls `accepted` once git has unpacked the push. */
async function receive(
  deps: PushDeps,
  push: Push,
  child: ChildProcess,
  accepted: () => void,
): Promise<{ afterwards: Afterwards; pushes: number } | null> {
  const channel = new HookChannel(child);
  try {
    const request = await channel.read();
    if (request === null) return null;
    accepted();
    // Recorded before anything is deployed, because workers find out from the record which host has the repository.
    const pushes = await recordPushed(deps.db, push.service.id);
    return { afterwards: await receivePush(deps, push, channel, request), pushes };
  } catch (error) {
    deps.log.warn({ serviceId: push.service.id }, `a push broke off: ${errorMessage(error)}`);
    return null;
  } finally {
    channel.close();
  }
}

/** Omits CONTENT_LENGTH. With a content length, git would loop forever on an input that ends early. */
function environmentOf(
  { ctx, rest, query, repository }: Exchange,
  settings: Settings,
  secondProtocol: boolean,
): Record<string, string> {
  const header = (name: string) => ctx.get(name);
  const at = repository.path.lastIndexOf('/');
  return {
    ...gitEnvironment(settings, repository.hooks),
    GIT_PROJECT_ROOT: repository.path.slice(0, at),
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: `${repository.path.slice(at)}/${rest}`,
    REQUEST_METHOD: ctx.method,
    QUERY_STRING: query,
    CONTENT_TYPE: header('Content-Type'),
    HTTP_CONTENT_ENCODING: header('Content-Encoding'),
    ...(secondProtocol && /^version=[0-9]$/.test(header('Git-Protocol'))
      ? { GIT_PROTOCOL: header('Git-Protocol') }
      : {}),
    REMOTE_ADDR: '127.0.0.1',
  };
}

/** Pipes the request body to git, and git's response to the client. */
async function pump(
  { ctx, signal }: Exchange,
  child: ChildProcess,
  limits: BodyLimits,
  end: (child: ChildProcess) => void = endChild,
): Promise<void> {
  const { req, res } = ctx;
  // Koa must not end the response, because it is piped below.
  ctx.status = 200;
  ctx.respond = false;
  const lose = () => {
    end(child);
    req.socket.destroy();
  };
  let refused: AppError | null = null;
  const body = boundedBody(limits, (error) => {
    refused = error;
    end(child);
  });
  const forgetAbort = onAbort(signal, lose);
  const forgetPace = watchPace({ req, res, body }, lose);
  try {
    passOn(ctx, body, () => end(child), child);
    await answerFrom(child, res, () => refused !== null);
  } finally {
    forgetAbort();
    forgetPace();
  }
  if (refused === null || res.headersSent) return void res.end();
  ctx.respond = true;
  // The rest of the body stays unread, so the connection cannot be reused.
  ctx.set('Connection', 'close');
  throw refused;
}

function passOn({ req }: ApiContext, body: Transform, end: () => void, child: ChildProcess): void {
  const stdin = child.stdin as Writable;
  stdin.on('error', () => undefined);
  req.pipe(body).pipe(stdin);
  // git would wait forever for the rest of an interrupted request. It stores only complete pushes, so nothing is lost.
  const gaveUp = () => {
    if (!req.readableEnded) end();
  };
  if (req.socket.destroyed) gaveUp();
  else req.socket.once('close', gaveUp);
  child.once('exit', () => req.socket.off('close', gaveUp));
}

/** Sends the headers with the first byte of the body, so that an error response is possible until then. */
async function answerFrom(child: ChildProcess, res: ServerResponse, isRefused: () => boolean): Promise<void> {
  let read = Buffer.alloc(0);
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    if (res.headersSent) {
      await send(res, chunk);
      continue;
    }
    read = Buffer.concat([read, chunk]);
    const end = read.indexOf(END_OF_HEAD) + END_OF_HEAD.length;
    const whole = end >= END_OF_HEAD.length;
    if (read.length === end || (!whole && read.length <= MAX_HEAD_BYTES)) continue;
    writeHead(res, whole ? read : Buffer.alloc(0));
    await send(res, read.subarray(whole ? end : 0));
  }
  if (res.headersSent || isRefused()) return;
  if (read.includes(END_OF_HEAD)) writeHead(res, read);
  else res.writeHead(500, { 'Content-Type': 'text/plain' });
}

/** The CGI headers in git's response that are passed on. */
const PASSED = ['content-type', 'cache-control', 'expires', 'pragma'];

function writeHead(res: ServerResponse, answer: Buffer): void {
  let status = 200;
  const head = answer.toString('latin1', 0, Math.max(0, answer.indexOf(END_OF_HEAD)));
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'status') status = Number.parseInt(value, 10) || 500;
    else if (PASSED.includes(name) && !res.headersSent) res.setHeader(name, value);
  }
  if (!res.headersSent) res.writeHead(status);
}

/** Writes a chunk and waits until a slow client has read it. Discards the chunk if the client has disconnected. */
async function send(res: ServerResponse, chunk: Buffer): Promise<void> {
  if (res.destroyed || res.writableEnded || res.write(chunk)) return;
  await Promise.race([once(res, 'drain'), once(res, 'close')]).catch(() => undefined);
}

async function ended(child: ChildProcess): Promise<string> {
  let said = '';
  (child.stderr as Readable).on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-MAX_ERROR_BYTES);
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve());
  });
  return said.trim();
}
