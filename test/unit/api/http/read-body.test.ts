import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { body } from '../../../../api/http/read-body.js';
import type { ApiState } from '../../../../api/http/request-state.js';
import { AppError } from '../../../../shared/core/error-registry.js';

/** The specification's limit, deliberately not imported. */
const LIMIT = 262_144;

const jsonOf = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;

describe('The body of a request', () => {
  let server: Server;

  before((done) => {
    const app = new Koa<ApiState>();
    app.use(async (ctx, next) => {
      ctx.state.route = { body: {} } as ApiState['route'];
      try {
        await next();
        ctx.body = String(String(ctx.state.json).length);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        ctx.status = error.status;
        ctx.body = error.code;
      }
    });
    app.use(body());
    server = createServer(app.callback()).listen(0, '127.0.0.1', done);
  });
  after(() => void server.close());

  /** Sends the chunks and resolves to the answer. One chunk is sent with its length, several are sent chunked. */
  function send(chunks: (string | Buffer)[], headers: Record<string, string> = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const options = { port, host: '127.0.0.1', method: 'POST', agent: false };
      const sent = request({ ...options, headers: { 'Content-Type': 'application/json', ...headers } }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.once('end', () => resolve(text));
      });
      sent.once('error', reject);
      for (const chunk of chunks) sent.write(chunk);
      sent.end();
    });
  }

  const halves = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)];
  const lengthOf = (text: string) => ({ 'Content-Length': String(Buffer.byteLength(text)) });

  it('of exactly the limit is read, with a length and chunked', async () => {
    const text = jsonOf(LIMIT);
    expect(await send([text], lengthOf(text))).to.equal(String(LIMIT - 2));
    expect(await send(halves(text))).to.equal(String(LIMIT - 2));
  });

  it('of one byte more is refused, with a length and chunked', async () => {
    const text = jsonOf(LIMIT + 1);
    expect(await send([text], lengthOf(text))).to.equal('payload_too_large');
    expect(await send(halves(text))).to.equal('payload_too_large');
  });

  it('counts bytes and not characters', async () => {
    const text = `"${'é'.repeat(LIMIT / 2)}"`;
    expect(text.length).to.be.lessThan(LIMIT);
    expect(await send(halves(text))).to.equal('payload_too_large');
  });

  it('keeps a character that two chunks share', async () => {
    const bytes = Buffer.from('"é"');
    expect(await send([bytes.subarray(0, 2), bytes.subarray(2)])).to.equal('1');
  });

  it('is neither inflated nor read as another type', async () => {
    expect(await send(['{}'], { 'Content-Encoding': 'gzip' })).to.equal('invalid_request');
    expect(await send(['{}'], { 'Content-Type': 'text/plain' })).to.equal('invalid_request');
  });
});
