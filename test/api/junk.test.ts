import { expect } from 'chai';
import fc from 'fast-check';
import pg from 'pg';
import { CsrfTokens } from '../../api/auth/csrf-token.js';
import { localClient } from '../../api/http/client-identity.js';
import { insertSession } from '../../shared/identity/session-store.js';
import { newToken } from '../../shared/secrets/random-token.js';
import { type Json, newService, startTestApi, type TestApi, type TestWorkspace } from '../support/api.js';
import { assertDocumented, DOCUMENT, type DocumentedOperation, OPERATIONS } from '../support/openapi.js';
import { pretendLive } from '../support/records.js';

/** The same junk in each run. Another seed makes other junk. */
const SEED = Number(process.env.JUNK_SEED ?? 20261121);
const RUNS = 20;
const PATIENCE_MS = 15_000;

interface JunkRequest {
  params: string[];
  query: string;
  body: string | Uint8Array;
  contentType: string;
  headers: Record<string, string>;
  credential: 'key' | 'session' | 'none' | 'junk';
}

const BROKEN: (string | Uint8Array)[] = [
  '',
  '{',
  '{"name":',
  'null',
  '[]',
  '"text"',
  '0',
  '\ufeff{}',
  "{'name':'x'}",
  '{"name":"x",}',
  '{"name":NaN}',
  `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
  `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  '['.repeat(10_000),
  '{"name":"a","name":"b"}',
  '{"name":"a","n\\u0061me":"b"}',
  '{"name":"\\ud800"}',
  '{"\\udfff":"x"}',
  '{"name":"\\u0000"}',
  '{"name":"a\u0000b"}',
  '{"configuration":{"port":1e400}}',
  '{"configuration":{"port":-1e-400,"replicas":99999999999999999999999}}',
  `{"revision":${'9'.repeat(400)},"positions":{},"viewport":null}`,
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"configuration":{"__proto__":{"port":1}}}',
  '{"toString":1,"hasOwnProperty":1,"valueOf":null}',
  `{"name":"${'x'.repeat(262_200)}"}`,
  Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d),
  Uint8Array.of(0xc0, 0x80),
];

const strange = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '\ud800',
    '__proto__',
    'constructor',
    '../../etc/passwd',
    "'; drop table services; --",
    '%00',
    '{{7*7}}',
    'NaN',
    '-1',
    '1e999',
    '9007199254740993',
    'x'.repeat(5000),
    '\u202e\u{1f4a9}',
    '00000000-0000-0000-0000-000000000000',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
const anything = fc.oneof(
  strange,
  fc.constantFrom<unknown>(null, true, false, 0, -0, -1, 0.5, 1e308, 2 ** 53, [], {}, [[]], [null], { $ref: '#' }),
  fc.jsonValue({ maxDepth: 4 }),
);

describe('Junk', function () {
  this.timeout(240_000);
  let api: TestApi;
  let workspace: TestWorkspace;
  let known: Record<string, string>;
  let reader: pg.Client;
  let tables: string[];
  let digest: string;
  /** The id that the next writing transaction would get. */
  let nextWrite: string;
  const statuses: Record<string, number> = {};
  let requests = 0;

  before(async () => {
    api = await startTestApi();
    workspace = await api.workspace();
    reader = new pg.Client({ connectionString: api.config.databaseUrl.reveal() });
    await reader.connect();
    const { rows } = await reader.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public'`,
    );
    tables = rows
      .map(({ name }) => name)
      .filter((name) => !['rate_limits', 'migrations', 'migrations_lock'].includes(name));
    await seed();
    // A use of a key is stored once a minute. A time in the future prevents that write.
    await api.db('api_keys').update({ last_used_at: api.db.raw(`now() + interval '1 day'`) });
    await lookAtRows();
  });
  after(async () => {
    await reader?.end();
    await api?.close();
    const summary = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
    process.stdout.write(
      `    junk: seed ${SEED}, ${requests} requests to ${OPERATIONS.length} operations, ${summary.join(', ')}\n`,
    );
  });

  async function seed(): Promise<void> {
    const { client } = workspace.owner;
    const service = await newService(client, workspace.path);
    const { body: made } = await client.post(`${workspace.path}/projects`, { name: 'Junkyard', color: 'gray' });
    const { body: group } = await client.post(`${workspace.path}/environment-groups`, { name: 'Junk' });
    const { body: variable } = await client.post(`${workspace.path}/services/${service.id}/variables`, {
      key: 'JUNK',
      value: 'yes',
    });
    known = {
      workspaceId: workspace.id,
      serviceId: service.id,
      projectId: made.project.id,
      environmentId: made.project.environments[0].id,
      groupId: group.environmentGroup.id,
      variableId: variable.variable.id,
      deploymentId: await pretendLive(api.db, service.id),
    };
  }

  /** Returns a digest of all rows. The statement is prepared, because planning it takes longer than running it. */
  async function digestOfRows(): Promise<string> {
    const parts = tables.map(
      (name) =>
        `select '${name}' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as part from "${name}" t`,
    );
    const { rows } = await reader.query<{ part: string }>({ name: 'digest', text: parts.join(' union all ') });
    return rows.map(({ part }) => part).join();
  }

  async function lookAtRows(): Promise<void> {
    const next = `select pg_snapshot_xmax(pg_current_snapshot())::text as next`;
    const [row] = (await reader.query<{ next: string }>({ name: 'next', text: next })).rows;
    if (row?.next === nextWrite) return;
    nextWrite = row?.next ?? '';
    digest = await digestOfRows();
  }

  /** Creates a session of the owner without the cost of signing in. */
  async function session(): Promise<Record<string, string>> {
    const { token, hash } = newToken();
    const client = localClient(process.platform === 'linux' ? (process.getuid?.() ?? null) : null);
    await insertSession(api.db, {
      userId: workspace.owner.userId,
      tokenHash: hash,
      secondFactor: false,
      client,
      byPassword: true,
    });
    await lookAtRows();
    const csrf = new CsrfTokens(Buffer.from(api.config.secretsKey.reveal(), 'base64'));
    return { Cookie: `ranvier_session=${token}`, 'X-CSRFToken': csrf.tokenFor(token) };
  }

  function requestsTo({ operation }: DocumentedOperation): fc.Arbitrary<JunkRequest> {
    const inPath: string[] = operation.parameters.flatMap(({ in: place, name }: Json) =>
      place === 'path' ? [name] : [],
    );
    const inQuery: string[] = operation.parameters.flatMap(({ in: place, name }: Json) =>
      place === 'query' ? [name] : [],
    );
    const schema = operation.requestBody?.content['application/json'].schema;
    const param = (name: string) =>
      fc.oneof(
        { weight: 6, arbitrary: fc.constant(known[name] ?? '00000000-0000-4000-8000-000000000000') },
        { weight: 1, arbitrary: fc.uuid() },
        { weight: 1, arbitrary: strange.map((text) => encode(text).replaceAll('.', '%2e') || '%20') },
      );
    const pair = fc
      .tuple(fc.oneof(fc.constantFrom(...inQuery, '__proto__', 'limit', 'cursor'), strange), strange)
      .map(([name, value]) => `${encode(name)}=${encode(value)}`);
    const shaped = schema === undefined ? anything : shapedBy(schema);
    return fc.record({
      params: fc.tuple(...inPath.map(param)),
      query: fc.oneof(
        { weight: 2, arbitrary: fc.constant('') },
        { weight: 1, arbitrary: fc.array(pair, { maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`) },
        { weight: 1, arbitrary: fc.constantFrom('?', '?&&&', '?%', '?%ff=%c0', '?a[b]=c', '?limit=1&limit=2') },
      ),
      body: fc.oneof(
        { weight: 4, arbitrary: shaped.map((value) => JSON.stringify(value)) },
        { weight: 2, arbitrary: fc.constantFrom(...BROKEN) },
        { weight: 1, arbitrary: anything.map((value) => JSON.stringify(value)) },
      ),
      contentType: fc.oneof(
        { weight: 8, arbitrary: fc.constant('application/json') },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            '',
            'text/plain',
            'application/json; charset=utf-16',
            'multipart/form-data',
            ';;;',
          ),
        },
      ),
      headers: fc.oneof(
        { weight: 4, arbitrary: fc.constant({}) },
        {
          weight: 1,
          arbitrary: fc.record(
            {
              'Idempotency-Key': headerText,
              'X-Request-ID': headerText,
              'X-Forwarded-For': headerText,
              'X-Forwarded-Proto': headerText,
              'Content-Encoding': fc.constantFrom('gzip', 'br', 'x'),
            },
            { requiredKeys: [] },
          ),
        },
      ),
      credential: fc.constantFrom<JunkRequest['credential'][]>(...CREDENTIALS),
    }) as fc.Arbitrary<JunkRequest>;
  }

  async function send(
    { method, fullPath }: DocumentedOperation,
    request: JunkRequest,
    sessionHeaders: Record<string, string>,
  ): Promise<void> {
    const params = [...request.params];
    const path = fullPath.replace(/\{\w+\}/g, () => params.shift() ?? '') + request.query;
    const proofs: Record<JunkRequest['credential'], Record<string, string>> = {
      key: { Authorization: `Bearer ${workspace.owner.key}` },
      session: sessionHeaders,
      none: {},
      junk: { Authorization: 'Bearer rnv_0000000000000000_junk', Cookie: 'ranvier_session=%00; ranvier_session' },
    };
    const withBody = method !== 'GET' && request.body.length > 0;
    const response = await fetch(api.url + path, {
      method,
      headers: {
        ...request.headers,
        ...proofs[request.credential],
        ...(withBody ? { 'Content-Type': request.contentType } : {}),
      },
      ...(withBody ? { body: typeof request.body === 'string' ? request.body : Buffer.from(request.body) } : {}),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    requests++;
    statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    const body: Json = await response.json();
    const what = `${method} ${path} ${response.status} ${JSON.stringify(body).slice(0, 500)}`;
    expect(response.status, what).to.be.lessThan(500);
    assertDocumented({ method, path, status: response.status, headers: response.headers, body });
    const before = digest;
    await lookAtRows();
    if (!response.ok) expect(digest, `${what} changed a row`).to.equal(before);
  }

  it('is answered below 500, with an error body and its requestId, and a refused request changes no row', async () => {
    for (const operation of OPERATIONS) {
      const headers = await session();
      for (const request of fc.sample(requestsTo(operation), { seed: SEED, numRuns: RUNS })) {
        await send(operation, request, headers);
      }
    }
    expect(requests).to.be.greaterThan(OPERATIONS.length);
    expect({}).to.not.have.property('admin');
  });

  it('every broken body is refused by every kind of write', async () => {
    const writes = OPERATIONS.filter(({ operation }) =>
      ['serviceCreate', 'canvasSave', 'sessionCreate'].includes(operation.operationId),
    );
    expect(writes).to.have.length(3);
    for (const operation of writes) {
      for (const body of BROKEN.filter((candidate) => candidate.length > 0)) {
        const before = statuses[200] ?? 0;
        const params = [workspace.id];
        const request = {
          params,
          query: '',
          body,
          contentType: 'application/json',
          headers: {},
          credential: 'key',
        } as const;
        await send(operation, request, {});
        expect(statuses[200] ?? 0, `${operation.path}: ${String(body).slice(0, 60)}`).to.equal(before);
      }
    }
  });
});

const CREDENTIALS: JunkRequest['credential'][] = ['key', 'key', 'key', 'session', 'session', 'none', 'junk'];

const headerText = fc
  .string({ unit: 'grapheme-ascii', maxLength: 200 })
  .map((text) => text.replace(/[^\x20-\x7e]/g, '').trim());

/** Percent-encodes a text. Lone surrogates, which a URL cannot contain, become an invalid UTF-8 byte. */
function encode(text: string): string {
  return /\p{Surrogate}/u.test(text) ? '%ff' : encodeURIComponent(text);
}

/** Generates bodies of the schema's shape, with each field either valid or junk. */
function shapedBy(schema: Json): fc.Arbitrary<unknown> {
  const resolved = schema.$ref === undefined ? schema : DOCUMENT.components.schemas[schema.$ref.split('/').at(-1)];
  const right = rightFor(resolved);
  return fc.oneof({ weight: 7, arbitrary: right }, { weight: 1, arbitrary: anything });
}

function rightFor(schema: Json): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(shapedBy));
  switch (schema.type) {
    case 'object': {
      const fields = Object.fromEntries(
        Object.entries<Json>(schema.properties ?? {}).map(([name, field]) => [name, shapedBy(field)]),
      );
      return fc.record(fields, { requiredKeys: (schema.required ?? []).filter((name: string) => name in fields) });
    }
    case 'array':
      return fc.array(schema.items ? shapedBy(schema.items) : anything, { maxLength: 3 });
    case 'integer':
    case 'number': {
      const min = Math.ceil(schema.minimum ?? 0);
      return fc.oneof(fc.integer({ min, max: Math.max(min, Math.min(schema.maximum ?? 1000, 2 ** 31)) }), fc.double());
    }
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.constantFrom('A_NAME', 'main', 'x'), fc.uuid());
  }
}
