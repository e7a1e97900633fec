import { AppError, invalidRequest } from '../../shared/core/error-registry.js';
import { parseJson } from './parse-json.js';
import type { ApiContext, ApiMiddleware, ApiStep } from './request-state.js';

/** Maximum number of bytes of a body (specification, Limits). */
export const BODY_LIMIT = 262_144;

const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/**
 * Parses the body as JSON. Throws payload_too_large, invalid_json or invalid_request. koa-body only reads the bytes,
 * because its JSON parser accepts duplicate keys and replaces invalid UTF-8.
 */
export function body(): ApiStep {
  const readers = new Map<number, Promise<ApiMiddleware>>();

  async function read(ctx: ApiContext): Promise<void> {
    const { bodyLimit = BODY_LIMIT } = ctx.state.route;
    const reader = readers.get(bodyLimit) ?? createReader(bodyLimit);
    readers.set(bodyLimit, reader);
    const readText = await reader;
    await readText(ctx as Parameters<ApiMiddleware>[0], async () => undefined);
    const bytes = Buffer.from(String(ctx.request.body ?? ''), 'latin1');
    if (bytes.length > 0) ctx.state.json = parseJson(bytes);
  }

  return (ctx) => {
    if (!carriesBody(ctx)) return;
    if (!JSON_TYPE.test(ctx.get('Content-Type'))) throw wrongHeader('Content-Type', 'must be application/json');
    // koa-body would decompress the body, and a small body can expand to a very large one.
    if (!/^(identity)?$/i.test(ctx.get('Content-Encoding'))) {
      throw wrongHeader('Content-Encoding', 'must be absent: bodies are not compressed');
    }
    return read(ctx);
  };
}

/** Loads koa-body for the first request with a body, because it takes 12 MiB. */
async function createReader(textLimit: number): Promise<ApiMiddleware> {
  const { HttpMethodEnum, koaBody } = await import('koa-body');
  return koaBody({
    text: true,
    textTypes: ['application/json'],
    textLimit,
    encoding: 'latin1',
    json: false,
    urlencoded: false,
    multipart: false,
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
    onError: (error) => {
      throw refusal(error, textLimit);
    },
  }) as ApiMiddleware;
}

function carriesBody({ request, state }: ApiContext): boolean {
  if (state.route.body === null) return false;
  return request.headers['transfer-encoding'] !== undefined || (request.length ?? 0) > 0;
}

function refusal(error: Error & { type?: string }, limit: number): Error {
  if (error.type === 'entity.too.large') {
    return new AppError('payload_too_large', `The request body exceeds ${limit} bytes`);
  }
  if (error.type === 'request.aborted' || error.type === 'stream.not.readable') {
    return new AppError('invalid_request', 'The connection was lost before the request was complete');
  }
  return error;
}

function wrongHeader(name: string, message: string): AppError {
  return invalidRequest(`header.${name}`, message);
}
