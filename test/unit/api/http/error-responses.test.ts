import { expect } from 'chai';
import type Koa from 'koa';
import { errors } from '../../../../api/http/error-responses.js';
import type { ApiContext, ApiState } from '../../../../api/http/request-state.js';
import { AppError } from '../../../../shared/core/error-registry.js';

interface Answer {
  status: number;
  body: unknown;
  headers: Record<string, unknown>;
  logged: number;
}

async function answerTo(handler: (ctx: ApiContext) => unknown): Promise<Answer> {
  let logged = 0;
  const headers: Record<string, unknown> = {};
  const ctx = {
    state: { requestId: 'r-1', log: () => ({ error: () => logged++, warn: () => logged++ }) } as unknown as ApiState,
    method: 'GET',
    path: '/x',
    status: 404,
    body: undefined as unknown,
    response: { get: (name: string) => headers[name] ?? '' },
    set: (name: string, value: string) => {
      headers[name] = value;
    },
  };
  await errors()(ctx as unknown as Koa.ParameterizedContext<ApiState>, async () => void (await handler(ctx as never)));
  return { status: ctx.status, body: ctx.body, headers, logged };
}

function fail(error: unknown): () => never {
  return () => {
    throw error;
  };
}

describe('A failure', () => {
  it('answers with the code, status and details of its AppError', async () => {
    const error = new AppError('invalid_request', 'Not so', [{ path: '/name', message: 'is required' }]);
    const { status, body, logged } = await answerTo(fail(error));
    expect(status).to.equal(400);
    expect(body).to.deep.equal({
      error: { code: 'invalid_request', message: 'Not so', details: [{ path: '/name', message: 'is required' }] },
      requestId: 'r-1',
    });
    expect(logged).to.equal(0);
  });

  it('that is a bug is logged, and answered with 500 that shows nothing of it', async () => {
    const { status, body, logged } = await answerTo(fail(new Error('the password is hunter2')));
    expect(status).to.equal(500);
    expect(body).to.have.nested.property('error.code', 'internal_error');
    expect(JSON.stringify(body)).to.not.contain('hunter2');
    expect(logged).to.equal(1);
  });

  it('to reach the database is answered with 503 and the seconds after which to ask again', async () => {
    const withCode = (code: string, syscall?: string) => Object.assign(new Error('x'), { code, syscall });
    const away = [
      ...['57P01', '57P03', '53300', '08006', '25006'].map((code) => withCode(code)),
      ...['ECONNREFUSED', 'ENOENT'].map((code) => withCode(code, 'connect')),
      withCode('ECONNRESET', 'read'),
      new Error('Connection terminated unexpectedly'),
      new Error('Knex: Timeout acquiring a connection. The pool is probably full.'),
    ];
    for (const error of away) {
      const { status, body, headers, logged } = await answerTo(fail(error));
      expect([status, headers['Retry-After'], logged], `${error}`).to.deep.equal([503, '1', 1]);
      expect(body).to.have.nested.property('error.code', 'database_unavailable');
    }
    for (const error of [withCode('23505'), withCode('ENOENT', 'open'), new TypeError('x is undefined')]) {
      expect((await answerTo(fail(error))).status, `${error}`).to.equal(500);
    }
  });

  it('of authentication names the scheme, and of a rate limit the seconds', async () => {
    expect((await answerTo(fail(new AppError('unauthenticated')))).headers).to.have.property('WWW-Authenticate');
    expect((await answerTo(fail(new AppError('rate_limited')))).headers).to.include({ 'Retry-After': '1' });
    const limited = await answerTo((ctx) => {
      ctx.set('Retry-After', '30');
      throw new AppError('rate_limited');
    });
    expect(limited.headers).to.include({ 'Retry-After': '30' });
  });

  it('is an unknown path or method that nothing answered, but no answer', async () => {
    const statuses: [number, string][] = [
      [404, 'not_found'],
      [405, 'method_not_allowed'],
      [501, 'method_not_allowed'],
    ];
    for (const [given, code] of statuses) {
      const { body } = await answerTo((ctx) => {
        ctx.status = given;
      });
      expect(body).to.have.nested.property('error.code', code);
    }
    const answered = await answerTo((ctx) => {
      ctx.status = 200;
      ctx.body = { ok: true };
    });
    expect([answered.status, answered.body]).to.deep.equal([200, { ok: true }]);
  });
});
