import type { IncomingMessage } from 'node:http';
import { AppError, invalidRequest } from '../../shared/errors.js';
import { parseJson } from '../json.js';
import type { ApiMiddleware } from '../state.js';

/** Bytes (specification, Limits). */
export const BODY_LIMIT = 262_144;

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/** Reads the body, never more of it than the limit, and parses it as JSON. An absent body is left undefined. */
export function body(): ApiMiddleware {
  return async (ctx, next) => {
    const bytes = await readBody(ctx.req);
    if (bytes.length > 0 && ctx.state.route.body !== null) {
      if (!JSON_TYPE.test(ctx.get('Content-Type'))) throw wrongHeader('Content-Type', 'must be application/json');
      if (!/^(identity)?$/i.test(ctx.get('Content-Encoding'))) {
        throw wrongHeader('Content-Encoding', 'must be absent: bodies are not compressed');
      }
      ctx.state.json = parseJson(bytes);
    }
    await next();
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const { 'content-length': announced, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && Number(announced ?? 0) === 0) return Buffer.alloc(0);
  if (Number(announced) > BODY_LIMIT) throw new AppError('payload_too_large');
  if (request.destroyed) throw lost();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const take = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_LIMIT) chunks.push(chunk);
      else settle(() => reject(new AppError('payload_too_large')));
    };
    const settle = (then: () => void) => {
      request.off('data', take);
      then();
    };
    request.on('data', take);
    request.once('end', () => settle(() => resolve(Buffer.concat(chunks))));
    request.once('error', () => settle(() => reject(lost())));
  });
}

function lost(): AppError {
  return new AppError('invalid_request', 'The connection was lost before the request was complete');
}

function wrongHeader(name: string, message: string): AppError {
  return invalidRequest(`header.${name}`, message);
}
