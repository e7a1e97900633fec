import { realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type send from 'send';
import { errorMessage } from '../../../../shared/core/error-registry.js';
import { lazily } from '../../../../shared/core/lazily.js';
import type { Target } from '../../route-table.js';
import { badRequest, PAGES, type Page, sendPage } from '../error-pages.js';
import type { Exchange } from '../exchange.js';
import { cacheControl } from './cache-control.js';
import { encoded, joined } from './compression.js';
import { findSitePath, isMissing, kindWithin } from './site-path.js';

/** Loaded with the first file, because it brings a table of all media types. */
const loadSend = lazily(() => createRequire(import.meta.url)('send') as typeof send);

export type StaticTarget = Extract<Target, { type: 'static' }>;

/** Answers from the published folder of an image. */
export async function serveSite(exchange: Exchange, target: StaticTarget, imagesDir: string): Promise<void> {
  const { req, res, requestId } = exchange;
  if (req.method !== 'GET' && req.method !== 'HEAD') return sendPage(exchange, PAGES.methodNotAllowed);
  const root = await publishedFolder(imagesDir, target);
  if (root === null) {
    exchange.log.error(
      { host: exchange.host, digest: target.digest },
      'the folder of a static site is not on this host',
    );
    return sendPage(exchange, PAGES.badGateway);
  }
  const found = await findSitePath(root, req.url ?? '/', target.base);
  switch (found.type) {
    case 'file':
      res.setHeader('Cache-Control', cacheControl(target.cacheProfile, found.path));
      return sendFile(exchange, root, found.path);
    case 'redirect':
      res.writeHead(found.isTemporary ? 302 : 301, {
        Location: found.location,
        'Content-Length': 0,
        'X-Request-ID': requestId,
      });
      res.end();
      return;
    case 'invalid':
      return sendPage(exchange, badRequest('The path is not valid.'));
    case 'missing':
      if (target.fallback !== null && isNavigation(req) && (await kindWithin(root, target.fallback)) === 'file') {
        res.setHeader('Cache-Control', 'no-cache');
        return sendFile(exchange, root, target.fallback);
      }
      if ((await kindWithin(root, '404.html')) !== 'file') return sendPage(exchange, PAGES.notFound);
      res.statusCode = 404;
      res.setHeader('Cache-Control', 'no-cache');
      return sendFile(exchange, root, '404.html');
  }
}

/**
 * Returns true if the request is for a page. Returns false for a file that a page needs, such as /assets/app.js:
 * answering with a page would only hide that the file is gone.
 */
function isNavigation({ headers, url = '/' }: Exchange['req']): boolean {
  if ((headers.accept ?? '').includes('text/html')) return true;
  const last = url.split('?')[0]?.split('/').at(-1) ?? '';
  return !/\.[A-Za-z][A-Za-z0-9]{0,9}$/.test(last);
}

/**
 * Returns the real path of the image's published folder.
 * Returns null if it is missing or leads out of the image.
 */
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

/**
 * Sends a file with `send`, which handles types, conditions, ranges and HEAD. The caller has checked that the path is
 * inside of the root.
 */
function sendFile(exchange: Exchange, root: string, path: string): void {
  const { req, res, requestId, containment } = exchange;
  res.setHeader('X-Request-ID', requestId);
  res.setHeader('X-Content-Type-Options', 'nosniff');
  const whole = res.statusCode === 404;
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

/** Pipes a file through an encoder into the response, if it is to be compressed. */
function compress(exchange: Exchange, file: Readable): void {
  const { req, res } = exchange;
  const { containment, encoders, connection } = exchange;
  const plain = Object.entries(res.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
  const { headers, encoder } = encoded(req, res.statusCode, plain, () => encoders.take(connection.client));
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (let i = 0; i + 1 < headers.length; i += 2) res.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
  if (encoder === null) return;
  // `send` pipes the file right after this event, before anything is read.
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
