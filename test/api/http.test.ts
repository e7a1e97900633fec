import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { expect } from 'chai';
import {
  expectError,
  type Json,
  newService,
  startTestApi,
  type TestApi,
  type TestWorkspace,
  useTestApi,
} from '../support/api.js';

const LIMIT = 262_144;

describe('Every request', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let services: string;

  useTestApi(async (given) => {
    ({ api, workspace } = given);
    services = `${workspace.path}/services`;
  });

  describe('X-Request-ID', () => {
    it('is accepted if it is valid, and returned in the header and in error bodies', async () => {
      for (const id of ['a', '0-_.Z', 'x'.repeat(64)]) {
        const response = await workspace.owner.client.get('/nowhere', { 'X-Request-ID': id });
        expect(response.headers.get('x-request-id')).to.equal(id);
        expect(response.body.requestId).to.equal(id);
      }
    });

    it('is replaced if it is not valid', async () => {
      for (const id of ['', '-a', '.a', 'a b', 'x'.repeat(65), 'a/b', 'é']) {
        const response = await workspace.owner.client.get('/catalog', { 'X-Request-ID': id });
        expect(response.status).to.equal(200);
        expect(response.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
      }
    });

    it('is not an idempotency key', async () => {
      const headers = { 'X-Request-ID': 'the-same' };
      const [first, second] = [
        await workspace.owner.client.post(services, { name: 'Once', kind: 'web' }, headers),
        await workspace.owner.client.post(services, { name: 'Once', kind: 'web' }, headers),
      ];
      expect([first.status, second.status]).to.deep.equal([201, 201]);
      expect(first.body.service.id).to.not.equal(second.body.service.id);
    });
  });

  describe('paths and methods', () => {
    it('unknown paths are 404, with and without a key', async () => {
      for (const path of ['/nowhere', `${workspace.path}/services/`, '/Catalog', `${workspace.path}/%zz`]) {
        expectError(await workspace.owner.client.get(path), 404, 'not_found');
        expectError(await api.client().get(path), 404, 'not_found');
      }
    });

    it('methods that a known path does not support are 405 and say which are', async () => {
      const cases: [string, string, string[]][] = [
        ['PUT', services, ['GET', 'HEAD', 'POST']],
        ['POST', '/catalog', ['GET', 'HEAD']],
        ['GET', `${services}/x/archive`, ['POST']],
        ['PROPFIND', '/catalog', ['GET', 'HEAD']],
      ];
      for (const [method, path, allowed] of cases) {
        const response = await workspace.owner.client.send(method, path);
        expectError(response, 405, 'method_not_allowed');
        expect(response.headers.get('allow')?.split(', ')).to.have.members(allowed);
      }
    });

    it('HEAD answers like GET without a body; OPTIONS says what is allowed', async () => {
      const head = await workspace.owner.client.send('HEAD', '/catalog');
      expect(head.status).to.equal(200);
      expect(head.body).to.equal(undefined);
      const options = await api.client().send('OPTIONS', services);
      expect(options.status).to.equal(200);
      expect(options.headers.get('allow')).to.contain('POST');
    });
  });

  describe('query', () => {
    it('unknown and duplicated parameters are refused by name', async () => {
      const cases: [string, string][] = [
        ['?colour=red', 'query.colour'],
        ['?limit=1&limit=2', 'query.limit'],
        ['?limit=0', 'query.limit'],
        ['?limit=201', 'query.limit'],
        ['?limit=ten', 'query.limit'],
        ['?limit=', 'query.limit'],
        ['?limit=1.0', 'query.limit'],
        ['?__proto__=1', 'query.__proto__'],
        ['?limit[]=1', 'query.limit[]'],
      ];
      for (const [query, path] of cases) {
        const response = await workspace.owner.client.get(services + query);
        expectError(response, 400, 'invalid_request');
        expect(response.body.error.details[0].path).to.equal(path);
      }
      expectError(
        await workspace.owner.client.post(`${services}?dry=1`, { name: 'x', kind: 'web' }),
        400,
        'invalid_request',
      );
    });
  });

  describe('body', () => {
    const json = { 'Content-Type': 'application/json' };
    const post = (body: string, headers: Record<string, string> = json) =>
      workspace.owner.client.post(services, body, headers);

    it('that is no JSON is invalid_json', async () => {
      for (const text of ['{', '{"a":}', "{'a':1}", '\u0001', '{"name":"x"}}', 'NaN']) {
        expectError(await post(text), 400, 'invalid_json');
      }
      const bytes = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
      expectError(await post(bytes.toString('latin1')), 400, 'invalid_request');
      const raw = await fetch(`${api.url}/api/v1${services}`, {
        method: 'POST',
        headers: { ...json, Authorization: `Bearer ${workspace.owner.key}` },
        body: bytes,
      });
      expect([raw.status, ((await raw.json()) as Json).error.code]).to.deep.equal([400, 'invalid_json']);
    });

    it('that is JSON but no object is invalid_request', async () => {
      for (const text of ['[]', 'null', '1', '"x"', 'true']) {
        expectError(await post(text), 400, 'invalid_request');
        const deploys = `${services}/${randomUUID()}/deploys`;
        expectError(await workspace.owner.client.post(deploys, text, json), 400, 'invalid_request');
      }
    });

    it('with another content type is 400', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
        const response = await post('{"name":"x","kind":"web"}', { 'Content-Type': type });
        expectError(response, 400, 'invalid_request');
        expect(response.body.error.details[0].path).to.equal('header.Content-Type');
      }
      const utf8 = await post('{"name":"x","kind":"web"}', { 'Content-Type': 'application/json; charset=UTF-8' });
      expect(utf8.status).to.equal(201);
    });

    it('of exactly the limit is read, one byte more is 413', async () => {
      const fill = (length: number) => {
        const frame = '{"name":"x","kind":"web","padding":""}';
        return frame.replace('"padding":""', `"padding":"${'p'.repeat(length - frame.length)}"`);
      };
      expectError(await post(fill(LIMIT)), 400, 'invalid_request');
      expectError(await post(fill(LIMIT + 1)), 413, 'payload_too_large');
    });

    it('that is chunked and endless is refused before its end', async () => {
      const { hostname, port } = new URL(api.url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
      socket.write(
        `POST /api/v1${services} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${workspace.owner.key}\r\n` +
          'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      const chunk = `${(65_536).toString(16)}\r\n${' '.repeat(65_536)}\r\n`;
      for (let i = 0; i < 5; i++) socket.write(chunk);
      expect(await answered).to.match(/^HTTP\/1\.1 413 /);
      socket.destroy();
    });

    it('is stored exactly or refused: duplicate keys, lone surrogates, NUL, __proto__, depth', async () => {
      const refused = [
        '{"name":"a","name":"b","kind":"web"}',
        '{"name":"a","kind":"web","configuration":{"port":1,"port":2}}',
        '{"name":"a","na\\u006de":"b","kind":"web"}',
        '{"name":"\\ud800","kind":"web"}',
        '{"name":"a\\u0000b","kind":"web"}',
        '{"name":"a","kind":"web","__proto__":{"deploy":true}}',
        '{"name":"a","kind":"web","configuration":{"__proto__":{"port":1}}}',
        '{"name":"a","kind":"web","constructor":{"prototype":{}}}',
        `{"name":${'['.repeat(100)}${']'.repeat(100)},"kind":"web"}`,
        `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      ];
      for (const text of refused) expectError(await post(text), 400, 'invalid_request');
      const name = 'naïve 日本 🎉 \u200d "quoted" \\u0041';
      const service = await newService(workspace.owner.client, workspace.path, { name });
      expect(service.name).to.equal(name);
    });

    it('may be absent if nothing is required', async () => {
      const service = await newService(workspace.owner.client, workspace.path);
      const path = `${services}/${service.id}`;
      expect((await workspace.owner.client.send('POST', `${path}/archive`)).status).to.equal(200);
      expect((await workspace.owner.client.send('POST', `${path}/restore`, {})).status).to.equal(200);
      expectError(await workspace.owner.client.post(`${path}/archive`, { force: true }), 400, 'invalid_request');
    });
  });

  it('whose handler fails unexpectedly is 500 internal_error and tells nothing', async () => {
    const broken = await startTestApi();
    try {
      const { owner, path } = await broken.workspace();
      await broken.db.raw('alter table services rename to gone');
      const response = await owner.client.get(`${path}/services`);
      expectError(response, 500, 'internal_error');
      expect(JSON.stringify(response.body)).to.not.match(/relation|select|gone/i);
    } finally {
      await broken.close();
    }
  });

  it('that is not even HTTP is answered with an error body', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write('this is no request\r\n\r\n');
    await ended;
    const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
    expect(head).to.match(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body)).to.have.nested.property('error.code', 'invalid_request');
    expect(head).to.contain(`X-Request-ID: ${JSON.parse(body).requestId}`);
  });
});
