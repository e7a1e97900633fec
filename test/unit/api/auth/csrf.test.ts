import { expect } from 'chai';
import { csrf, signInCsrf } from '../../../../api/auth/csrf.js';
import { CsrfTokens } from '../../../../api/auth/csrf-token.js';
import type { ApiDeps } from '../../../../api/http/api-deps.js';
import type { ApiStep } from '../../../../api/http/request-state.js';
import { codeOf } from '../../../support/outcomes.js';

const COOKIE = 'c'.repeat(43);

describe('A write with a session', () => {
  const tokens = new CsrfTokens(Buffer.alloc(32, 1));
  const deps = { csrf: tokens, config: { publicUrl: 'http://ranvier.test' } } as unknown as ApiDeps;

  async function send(
    step: ApiStep,
    headers: Record<string, string>,
    { method = 'POST', kind = 'session', cookie = COOKIE } = {},
  ): Promise<string> {
    const ctx = {
      state: { caller: { kind }, route: { method }, tls: false },
      get: (name: string) => headers[name] ?? '',
      cookies: { get: (name: string) => (name.endsWith('session') ? cookie : undefined) },
      secure: false,
      req: { headers: { host: 'ranvier.test', cookie: `ranvier_session=${cookie}` } },
    };
    return codeOf((async () => step(ctx as never))(), 'passed');
  }
  const right = { 'X-CSRFToken': tokens.tokenFor(COOKIE) };

  it('needs the token of its cookie', async () => {
    expect(await send(csrf(deps), right)).to.equal('passed');
    expect(await send(csrf(deps), {})).to.equal('csrf_failed');
    expect(await send(csrf(deps), { 'X-CSRFToken': tokens.tokenFor('another') })).to.equal('csrf_failed');
    const others = new CsrfTokens(Buffer.alloc(32, 2));
    expect(await send(csrf(deps), { 'X-CSRFToken': others.tokenFor(COOKIE) })).to.equal('csrf_failed');
  });

  it('is refused from a page of another origin, also with the token, and so is a read', async () => {
    const others: Record<string, string>[] = [{ Origin: 'http://evil.test' }, { 'Sec-Fetch-Site': 'cross-site' }];
    for (const foreign of others) {
      expect(await send(csrf(deps), { ...right, ...foreign })).to.equal('csrf_failed');
      expect(await send(csrf(deps), foreign, { method: 'GET' })).to.equal('csrf_failed');
    }
  });

  it('is not what these rules are for if it reads, or if a key sends it', async () => {
    expect(await send(csrf(deps), {}, { method: 'GET' })).to.equal('passed');
    expect(await send(csrf(deps), { Origin: 'http://evil.test' }, { kind: 'key' })).to.equal('passed');
  });

  it('that signs in needs none, but one that is sent must be right', async () => {
    expect(await send(signInCsrf(deps), {})).to.equal('passed');
    expect(await send(signInCsrf(deps), right)).to.equal('passed');
    expect(await send(signInCsrf(deps), { 'X-CSRFToken': 'wrong' })).to.equal('csrf_failed');
    expect(await send(signInCsrf(deps), { Origin: 'http://evil.test' })).to.equal('csrf_failed');
  });
});
