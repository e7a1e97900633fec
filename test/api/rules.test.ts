import { expect } from 'chai';
import { hashPassword } from '../../shared/secrets/password.js';
import { expectError, type Json, newService, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

const REDIRECT = { type: 'redirect', from: '/old/:page', to: '/new/:page', status: 308 };
const AUTH = { type: 'basicAuth', for: '/admin/*', users: [{ name: 'anna', password: 'correct horse' }] };

describe('Rules of the edge', () => {
  let api: TestApi;
  let workspace: TestWorkspace;
  let service: Json;
  let path: string;

  useTestApi((given) => ({ api, workspace } = given));
  beforeEach(async () => {
    service = await newService(workspace.owner.client, workspace.path);
    path = `${workspace.path}/services/${service.id}/rules`;
  });
  const put = (rules: unknown, client = workspace.owner.client) => client.send('PUT', path, { rules });
  const stored = async () => (await api.db('service_rules').where({ service_id: service.id }).first())?.rules ?? [];
  const refused = async (rules: unknown) => {
    const answer = await put(rules);
    expectError(answer, 400, 'invalid_request');
    return answer.body.error.details.map((detail: Json) => detail.path);
  };

  it('are kept in their order, and moved to the edges with a new version of the route', async () => {
    const { client } = workspace.owner;
    expect((await client.get(path)).body).to.deep.equal({ rules: [] });
    const version = async () => Number((await api.db('services').where({ id: service.id }).first()).route_version);
    const before = await version();
    const rules = [
      REDIRECT,
      { type: 'rewrite', from: '/api/*', to: '/v2/:splat' },
      { type: 'redirect', from: '/store', query: { id: ':id' }, to: 'https://shop.example.com/:id', force: true },
      { type: 'headers', for: '/*', set: { 'X-Frame-Options': 'DENY' }, remove: ['Server'] },
      { type: 'rateLimit', for: '/login', requests: 10, perSeconds: 60 },
      { type: 'maintenance', for: '/shop/*', message: 'Back at nine' },
    ];
    const { status, body } = await put(rules);
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body).to.deep.equal({ rules });
    expect((await client.get(path)).body).to.deep.equal({ rules });
    expect(await version()).to.be.above(before);
    const [entry] = (await client.get(`${workspace.path}/audit?limit=1`)).body.entries;
    expect(entry.operation).to.equal('rule.set');
    expect((await put([])).body).to.deep.equal({ rules: [] });
    expect(await stored()).to.deep.equal([]);
  });

  it('keep passwords as hashes, never show them, and keep them for users who are sent without', async () => {
    const { body } = await put([AUTH]);
    expect(body.rules).to.deep.equal([{ ...AUTH, users: [{ name: 'anna' }] }]);
    const [first] = await stored();
    expect(first.users[0].hash).to.match(/^scrypt\$/);
    expect(JSON.stringify(await stored())).to.not.contain('correct horse');
    const users = [{ name: 'anna' }, { name: 'bert', password: 'x' }];
    expect((await put([REDIRECT, { ...AUTH, realm: 'Team', users }])).status).to.equal(200);
    const [, second] = await stored();
    expect(second.users[0].hash).to.equal(first.users[0].hash);
    expect(await refused([{ ...AUTH, users: [{ name: 'carl' }] }])).to.deep.equal(['/rules/0/users/0/password']);
    expect(await hashPassword('x')).to.match(/^scrypt\$/);
  });

  it('are refused with the path of the field', async () => {
    const redirect = (fields: object) => [REDIRECT, { type: 'redirect', from: '/a', to: '/b', ...fields }];
    const headers = (fields: object) => [{ type: 'headers', for: '/*', ...fields }];
    const cases: [unknown, string[]][] = [
      [[{ type: 'nonsense' }], ['/rules/0/type']],
      [[{ type: 'redirect', from: '/a' }], ['/rules/0/to']],
      [[{ ...REDIRECT, requests: 1 }], ['/rules/0/requests']],
      [[{ ...REDIRECT, colour: 'red' }], ['/rules/0/colour']],
      [[{ type: 'rewrite', from: '/a', to: '/b', status: 301 }], ['/rules/0/status']],
      [redirect({ status: 200 }), ['/rules/1/status']],
      [redirect({ status: 'permanent' }), ['/rules/1/status']],
      [redirect({ from: 'a' }), ['/rules/1/from']],
      [redirect({ from: '/:x/:x' }), ['/rules/1/from']],
      [redirect({ from: '/(a+)+$' }), ['/rules/1/from']],
      [redirect({ from: '/*/*/x' }), ['/rules/1/from']],
      [redirect({ from: '/*/:x' }), ['/rules/1/from']],
      [redirect({ to: '/:nope' }), ['/rules/1/to']],
      [redirect({ to: 'ftp://example.com' }), ['/rules/1/to']],
      [redirect({ to: '//example.com' }), ['/rules/1/to']],
      [redirect({ from: '/a/:host', to: 'https://:host/' }), ['/rules/1/to']],
      [redirect({ to: '/b c' }), ['/rules/1/to']],
      [redirect({ from: '/a/:id', query: { id: ':id' } }), ['/rules/1/query']],
      [[{ type: 'rewrite', from: '/a', to: 'https://example.com/' }], ['/rules/0/to']],
      [redirect({ to: '/a/' }), ['/rules/1/to']],
      [
        [
          { type: 'redirect', from: '/a', to: '/b' },
          { type: 'redirect', from: '/b', to: '/a' },
        ],
        ['/rules/0/to'],
      ],
      [[{ type: 'redirect', from: '/*', to: '/index.html' }], ['/rules/0/to']],
      [[{ type: 'redirect', from: '/a/*', to: '/a/b/:splat' }], ['/rules/0/to']],
      [headers({}), ['/rules/0/set']],
      [headers({ set: { 'Content-Length': '5' } }), ['/rules/0/set/Content-Length']],
      [headers({ set: { Host: 'x' } }), ['/rules/0/set/Host']],
      [headers({ set: { Connection: 'x' } }), ['/rules/0/set/Connection']],
      [headers({ set: { 'Set-Cookie': 'a=b' } }), ['/rules/0/set/Set-Cookie']],
      [headers({ set: { 'a b': 'x' } }), ['/rules/0/set/a b']],
      [headers({ set: { 'X-A': 'a\r\nb' } }), ['/rules/0/set/X-A']],
      [headers({ set: { 'X-A': 'š' } }), ['/rules/0/set/X-A']],
      [headers({ remove: ['Transfer-Encoding'] }), ['/rules/0/remove/0']],
      [[{ ...AUTH, users: [] }], ['/rules/0/users']],
      [[{ ...AUTH, users: [{ name: 'a:b', password: 'x' }] }], ['/rules/0/users/0/name']],
      [
        [
          {
            ...AUTH,
            users: [
              { name: 'a', password: 'x' },
              { name: 'a', password: 'y' },
            ],
          },
        ],
        ['/rules/0/users/1/name'],
      ],
      [[{ ...AUTH, realm: 'a"b' }], ['/rules/0/realm']],
      [[{ type: 'rateLimit', for: '/', requests: 0, perSeconds: 60 }], ['/rules/0/requests']],
      [[{ type: 'rateLimit', for: '/', requests: 1, perSeconds: 86_400 }], ['/rules/0/perSeconds']],
      [[{ type: 'canary', percent: 0 }], ['/rules/0/percent']],
      [[{ type: 'canary', percent: 100, minutes: 1 }], ['/rules/0/percent']],
      [[{ type: 'canary', percent: 5, minutes: 1_441 }], ['/rules/0/minutes']],
      [[{ type: 'canary', minutes: 5 }], ['/rules/0/percent']],
      [[{ type: 'canary', percent: 5, for: '/' }], ['/rules/0/for']],
      [[{ type: 'canary', percent: 5 }, REDIRECT, { type: 'canary', percent: 6 }], ['/rules/2/type']],
      [Array.from({ length: 1_001 }, (_, i) => ({ type: 'redirect', from: `/a${i}`, to: '/b' })), ['/rules']],
    ];
    for (const [rules, paths] of cases) {
      expect(await refused(rules), JSON.stringify(rules).slice(0, 200)).to.deep.equal(paths);
    }
    expect(await stored()).to.deep.equal([]);
  });

  it('may be one canary, of a web service alone', async () => {
    const rules = [REDIRECT, { type: 'canary', percent: 10, minutes: 30 }];
    expect((await put(rules)).body).to.deep.equal({ rules });
    const site = await newService(workspace.owner.client, workspace.path, { kind: 'static' });
    const answer = await workspace.owner.client.send('PUT', `${workspace.path}/services/${site.id}/rules`, { rules });
    expectError(answer, 409, 'conflict');
    expect(answer.body.error.message).to.contain('static has no canary');
  });

  it('may be a thousand, be of web and static services alone, and be set by developers alone', async () => {
    const many = Array.from({ length: 1_000 }, (_, i) => ({ type: 'redirect', from: `/a${i}/*`, to: `/b${i}/:splat` }));
    expect((await put(many)).status).to.equal(200);
    const viewer = await workspace.member('viewer');
    expect((await viewer.client.get(path)).body.rules).to.have.length(1_000);
    expectError(await put([REDIRECT], viewer.client), 403, 'forbidden');
    const developer = await workspace.member('developer');
    expect((await put([REDIRECT], developer.client)).status).to.equal(200);
    const stranger = await api.workspace();
    expectError(await stranger.owner.client.get(path), 404, 'not_found');
    expectError(await put([], stranger.owner.client), 404, 'not_found');
    const other = await newService(workspace.owner.client, workspace.path, { kind: 'worker' });
    const there = `${workspace.path}/services/${other.id}/rules`;
    expectError(await workspace.owner.client.send('PUT', there, { rules: [REDIRECT] }), 409, 'conflict');
  });

  it('of a domain redirect it to another one, and never in a chain', async () => {
    const domains = `${workspace.path}/services/${service.id}/domains`;
    const { client } = workspace.owner;
    const add = async (body: object) => (await client.post(domains, body)).body.domain;
    const apex = await add({ hostname: 'example.com', redirectTo: 'WWW.example.com' });
    expect(apex.redirectTo).to.equal('www.example.com');
    const www = await add({ hostname: 'www.example.com' });
    expect(www).to.not.have.property('redirectTo');
    const patch = (id: string, redirectTo: unknown) => client.send('PATCH', `${domains}/${id}`, { redirectTo });
    for (const to of ['example.com', 'www.example.com', '*.example.com', 'shop.example.org']) {
      const answer = await patch(www.id, to);
      expectError(answer, 400, 'invalid_request');
      expect(answer.body.error.details[0].path).to.equal('/redirectTo');
    }
    expect((await patch(apex.id, null)).body.domain).to.not.have.property('redirectTo');
    expect((await patch(www.id, `shop.${api.config.edgeDomain}`)).body.domain.redirectTo).to.contain('shop.');
  });
});
