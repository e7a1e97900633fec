import { expect } from 'chai';
import { buildConsole } from '../../api/pages/console-build.js';
import { expectError, type TestApi, useTestApi } from '../support/api.js';
import { rawRequest } from '../support/http.js';

describe('The console’s files', function () {
  this.timeout(240_000);
  let api: TestApi;

  before(() => buildConsole());
  useTestApi((given) => {
    api = given.api;
  });

  const page = (path: string, headers: Record<string, string> = {}) => fetch(api.url + path, { headers });

  it('are served at / and at every path of the console, under a strict policy', async () => {
    for (const path of ['/', '/sign-in', '/w/0/s/1/logs']) {
      const answer = await page(path);
      expect(answer.status, path).to.equal(200);
      expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8');
      const policy = answer.headers.get('content-security-policy') ?? '';
      expect(policy).to.include("default-src 'none'").and.include("script-src 'self'").and.include("style-src 'self'");
      expect(policy).to.not.include('unsafe');
      const html = await answer.text();
      expect(html).to.not.match(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
    }
  });

  it('are the only answers that a browser may take for a page, and that no page frames', async () => {
    for (const path of [
      '/',
      '/api/v1/openapi.json',
      '/api/v1/workspaces',
      '/nothing',
      '/healthz',
      '/api/docs',
      '/api/verify',
    ]) {
      const { headers } = await page(path);
      expect(headers.get('x-content-type-options'), path).to.equal('nosniff');
      expect(headers.get('content-security-policy'), path).to.match(/^default-src 'none'.*frame-ancestors 'none'$/);
    }
  });

  it('are never cached as a page, and for good by their hashed names', async () => {
    const answer = await page('/');
    expect(answer.headers.get('cache-control')).to.equal('no-cache');
    // fetch asks for a fresh copy when it is given a tag.
    const headers = { 'If-None-Match': answer.headers.get('etag') ?? '' };
    expect((await rawRequest(`${api.url}/`, { headers })).status).to.equal(304);
    const [, script = ''] = /<script[^>]*src="([^"]+)"/.exec(await answer.text()) ?? [];
    const asset = await page(script, { 'Accept-Encoding': 'gzip' });
    expect(asset.status).to.equal(200);
    expect(asset.headers.get('content-encoding')).to.equal('gzip');
    expect(asset.headers.get('cache-control')).to.include('immutable');
    expect((await page('/assets/nothing.js')).status).to.equal(404);
  });

  it('do not hide that the API has nothing at a path', async () => {
    const unknown = await page('/nothing');
    expect(unknown.headers.get('content-type')).to.match(/^application\/json/);
    expectError({ status: unknown.status, headers: unknown.headers, body: await unknown.json() }, 404, 'not_found');
    const write = await fetch(`${api.url}/`, { method: 'POST' });
    expect(write.status).to.equal(405);
  });

  it('are built once for a version', async () => {
    expect((await buildConsole()).built).to.equal(false);
  });
});
