import { realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type send from 'send';
import { errorMessage } from '../../../../shared/core/error-registry.js';
import { lazily } from '../../../../shared/core/lazily.js';
import { isRedirect } from '../../../../shared/rules/moves.js';
import type { Target } from '../../route-table.js';
import { locationOf } from '../../rules/apply-rules.js';
import { changedHeaders } from '../../rules/header-changes.js';
import type { SiteMove } from '../../rules/rule-set.js';
import { badRequest, PAGES, type Page, sendPage, sendRedirect } from '../error-pages.js';
import type { Exchange } from '../exchange.js';
import { cacheControl, REVALIDATE } from './cache-control.js';
import { encoded, joined } from './compression.js';
import { findSitePath, isMissing, kindWithin } from './site-path.js';

/** The library `send` includes a large table of media types. */
const loadSend = lazily(() => createRequire(import.meta.url)('send') as typeof send);

export type StaticTarget = Extract<Target, { type: 'static' }>;

/** Responds from the published folder of an image, or with the redirect or rewrite of a rule. */
export async function serveSite(exchange: Exchange, target: StaticTarget, imagesDir: string): Promise<void> {
  const { req, move } = exchange;
  const isRead = req.method === 'GET' || req.method === 'HEAD';
  if (!isRead && (move === null || !isRedirect(move.status))) return sendPage(exchange, PAGES.methodNotAllowed);
  const root = await publishedFolder(imagesDir, target);
  if (root === null) {
    exchange.log.error(
      { host: exchange.host, digest: target.digest },
      'the folder of a static site is not on this host',
    );
    return sendPage(exchange, PAGES.badGateway);
  }
  const found = await findSitePath(root, req.url ?? '/', target.base);
  if (move !== null && found.type !== 'invalid' && (move.force || found.type === 'missing')) {
    return sendMove(exchange, move, root, target);
  }
  if (!isRead) return sendPage(exchange, PAGES.methodNotAllowed);
  switch (found.type) {
    case 'file':
      return sendFile(exchange, root, found.path, cacheControl(target.cacheProfile, found.path));
    case 'redirect':
      return sendRedirect(exchange, found.isTemporary ? 302 : 301, found.location);
    case 'invalid':
      return sendPage(exchange, badRequest('The path is not valid.'));
    case 'missing':
      if (target.fallback !== null && isNavigation(req) && (await kindWithin(root, target.fallback)) === 'file') {
        return sendFile(exchange, root, target.fallback, REVALIDATE);
      }
      return sendMissing(exchange, root);
  }
}

async function sendMissing(exchange: Exchange, root: string): Promise<void> {
  if ((await kindWithin(root, '404.html')) !== 'file') return sendPage(exchange, PAGES.notFound);
  exchange.res.statusCode = 404;
  sendFile(exchange, root, '404.html', REVALIDATE);
}

async function sendMove(
  exchange: Exchange,
  { status, target: to }: SiteMove,
  root: string,
  { base, cacheProfile }: StaticTarget,
): Promise<void> {
  if (isRedirect(status)) return sendRedirect(exchange, status, locationOf(to));
  const asked = await findSitePath(root, to.path, base);
  // A redirect adds the final slash of a folder, or the site's base path.
  const found = asked.type === 'redirect' ? await findSitePath(root, asked.location, base) : asked;
  if (found.type !== 'file') return sendMissing(exchange, root);
  exchange.res.statusCode = status;
  sendFile(exchange, root, found.path, status === 200 ? cacheControl(cacheProfile, found.path) : REVALIDATE);
}

/**
 * Returns true if the client asks for a page. A page in place of a missing /assets/app.js would hide that the file is
 * missing.
 */
function isNavigation({ headers, url = '/' }: Exchange['req']): boolean {
  if ((headers.accept ?? '').includes('text/html')) return true;
  const last = url.split('?')[0]?.split('/').at(-1) ?? '';
  return !/\.[A-Za-z][A-Za-z0-9]{0,9}$/.test(last);
}

async function publishedFolder(imagesDir: string, target: StaticTarget): Promise<string | null> {
  try {
    const image = await realpath(join(imagesDir, target.digest));
    if ((await kindWithin(image, target.publishDirectory)) !== 'directory') return null;
    return await realpath(join(image, target.publishDirectory));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The caller must have checked that the path is inside the root. */
function sendFile(exchange: Exchange, root: string, path: string, caching: string): void {
  const { req, res, requestId, containment, headerChanges } = exchange;
  res.setHeader('Cache-Control', caching);
  res.setHeader('X-Request-ID', requestId);
  res.setHeader('X-Content-Type-Options', 'nosniff');
  const whole = res.statusCode !== 200;
  const sendStream = loadSend();
  sendStream(req, `/${path.split('/').map(encodeURIComponent).join('/')}`, {
    root,
    dotfiles: 'allow',
    index: false,
    cacheControl: false,
    acceptRanges: !whole,
    etag: !whole,
    lastModified: !whole,
  })
    .on('headers', () => {
      // `send` does not replace headers that are already set. So the headers of the site's rules take precedence.
      for (const { set, without } of headerChanges ?? []) {
        for (const name of without) res.removeHeader(name);
        for (const { name, value } of set) res.setHeader(name, value);
      }
    })
    .on(
      'stream',
      containment.guard((file: Readable) => compress(exchange, file)),
    )
    .on(
      'error',
      containment.guard((error: Error & { status?: number }) => failFile(exchange, error)),
    )
    .pipe(res);
}

function compress(exchange: Exchange, file: Readable): void {
  const { req, res, containment, encoders, connection } = exchange;
  const plain = Object.entries(res.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
  const changed = changedHeaders(plain, exchange.headerChanges);
  const { headers, encoder } = encoded(req, res.statusCode, changed, () => encoders.take(connection.client));
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (let i = 0; i + 1 < headers.length; i += 2) res.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
  if (encoder === null) return;
  // `send` pipes the file to the response right after this event. On the next tick, the pipe can be replaced.
  process.nextTick(
    containment.guard(() => {
      file.unpipe(res);
      file.pipe(joined(encoder, res, containment));
    }),
  );
}

const FILE_ERRORS = new Map<number, Page>([
  [404, PAGES.notFound],
  [412, PAGES.preconditionFailed],
  [416, PAGES.rangeNotSatisfiable],
]);

function failFile(exchange: Exchange, error: Error & { status?: number }): void {
  const { res, host, requestId, log } = exchange;
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const page = FILE_ERRORS.get(error.status ?? 500);
  if (page === undefined) log.error({ host, requestId }, `a file could not be read: ${errorMessage(error)}`);
  for (const name of res.getHeaderNames()) if (name !== 'content-range') res.removeHeader(name);
  sendPage(exchange, page ?? PAGES.internalError);
}
