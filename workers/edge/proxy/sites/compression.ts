import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import type { Containment } from '../containment.js';
import { eachPair, valuesOf } from '../proxy-headers.js';
import { PacedWriter } from '../visitors/paced-writer.js';

/** Smaller responses do not gain from compression. */
const COMPRESS_FROM_BYTES = 1_024;
/** Event streams are not listed: each event must arrive at once. */
const COMPRESSIBLE_TYPES: ReadonlySet<string> = new Set(
  `text/html text/css text/plain text/javascript text/xml text/markdown text/csv application/json application/ld+json
  application/problem+json application/manifest+json application/javascript application/xml application/xhtml+xml
  application/rss+xml application/atom+xml application/wasm image/svg+xml font/ttf font/otf`.split(/\s+/),
);
/** With this quality, Brotli compresses about as well as gzip, in less time. */
const BROTLI_QUALITY = 4;
/** A window of 256 KB. The default of 4 MB needs 6 MB of memory per response, and makes few responses smaller. */
const BROTLI_WINDOW_BITS = 18;
/** Status codes of responses without a body, or with only a part of a body. */
const NOT_WHOLE = new Set([204, 205, 206, 304]);

type Encoding = 'br' | 'gzip';
type Request = Pick<IncomingMessage, 'method' | 'headers'>;

/** Reserves an encoder and returns the function that releases it; null if none is free. */
export type TakeEncoder = () => (() => void) | null;

export interface Encoded {
  headers: string[];
  encoder: Transform | null;
}

/** Compresses a response if that is worthwhile and the client accepts it. `headers` is a flat list. */
export function encoded(req: Request, status: number, headers: readonly string[], take: TakeEncoder): Encoded {
  const header = (name: string) => valuesOf(headers, name) || undefined;
  if (!isCompressible(status, header)) return { headers: [...headers], encoder: null };
  const varying = withVary(headers, header('vary') ?? '');
  const encoding = encodingFor(req);
  const giveBack = encoding === null ? null : take();
  if (encoding === null || giveBack === null) return { headers: varying, encoder: null };
  const out: string[] = [];
  eachPair(varying, (name, value) => {
    const lower = name.toLowerCase();
    if (lower === 'content-length' || lower === 'accept-ranges') return;
    out.push(name, lower === 'etag' && value.startsWith('"') ? `W/${value}` : value);
  });
  out.push('Content-Encoding', encoding);
  const encoder = encoderOf(encoding, header('content-length') === undefined);
  encoder.once('close', giveBack);
  return { headers: out, encoder };
}

/** Pipes the encoder's output to the response until the response is closed. */
export function joined(encoder: Transform, res: ServerResponse, containment: Containment): Transform {
  const writer = new PacedWriter(res, encoder);
  encoder.on('error', (error) => containment.caught(error, 'an answer could not be compressed'));
  encoder.on('data', (chunk: Buffer) => writer.write(chunk));
  encoder.once('end', () => writer.end());
  res.once('close', () => encoder.destroy());
  if (res.destroyed) encoder.destroy();
  return encoder;
}

function isCompressible(status: number, header: (name: string) => string | undefined): boolean {
  const [type = ''] = (header('content-type') ?? '').split(';');
  return (
    !NOT_WHOLE.has(status) &&
    COMPRESSIBLE_TYPES.has(type.trim().toLowerCase()) &&
    (header('content-encoding') ?? 'identity').toLowerCase() === 'identity' &&
    !/\bno-transform\b/i.test(header('cache-control') ?? '') &&
    Number(header('content-length') ?? COMPRESS_FROM_BYTES) >= COMPRESS_FROM_BYTES
  );
}

function encodingFor(req: Request): Encoding | null {
  if (req.method === 'HEAD' || req.headers.range !== undefined) return null;
  const weights = new Map<string, number>();
  for (const part of String(req.headers['accept-encoding'] ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    if (name !== '') weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  const best: Encoding = weightOf('br') >= weightOf('gzip') ? 'br' : 'gzip';
  return weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : null;
}

/** A streaming response (no Content-Length) is flushed on every write. */
function encoderOf(encoding: Encoding, streaming: boolean): Transform {
  // The encoder stops until each piece of its output is read. To collect small pieces would cost more than it saves.
  const pace = { readableHighWaterMark: 1 };
  if (encoding === 'gzip') return createGzip({ ...pace, ...(streaming ? { flush: constants.Z_SYNC_FLUSH } : {}) });
  return createBrotliCompress({
    ...pace,
    ...(streaming ? { flush: constants.BROTLI_OPERATION_FLUSH } : {}),
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW_BITS,
    },
  });
}

function withVary(headers: readonly string[], vary: string): string[] {
  const names = vary.split(',').map((name) => name.trim().toLowerCase());
  const told = names.includes('*') || names.includes('accept-encoding');
  return told ? [...headers] : [...headers, 'Vary', 'Accept-Encoding'];
}
