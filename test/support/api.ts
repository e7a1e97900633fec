import { expect } from 'chai';
import { createApp } from '../../api/app.js';
import { API_ROOT } from '../../api/http/endpoint.js';
import { type RunningServer, startServer } from '../../api/server.js';
import { type Config, loadConfig } from '../../shared/core/config.js';
import type { Db } from '../../shared/core/database/database-client.js';
import { createLogger } from '../../shared/core/log.js';
import { createMailer } from '../../shared/core/mail.js';
import { Sensitive } from '../../shared/core/sensitive.js';
import { addMember, createKey, createWorkspace } from '../../shared/identity/commands.js';
import type { KeyScope, Role } from '../../shared/identity/policy.js';
import { createEngine, type Engine } from '../../shared/queues/queue-engine.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { makeUser } from './factories.js';
import { assertDocumented } from './openapi.js';
import { ENGINES, type EngineName } from './platform.js';
import { createTestDatabase } from './postgres.js';
import { startRedis } from './redis.js';

// biome-ignore lint/suspicious/noExplicitAny: a test reads any field and its expectations are the check
export type Json = any;

export interface ApiResponse {
  status: number;
  headers: Headers;
  body: Json;
}

/** Sends requests with one credential, and checks each answer against the OpenAPI document. */
export interface Client {
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  delete(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
}

export interface Member {
  userId: string;
  email: string;
  client: Client;
  reader: Client;
  key: string;
  keyId: string;
}

export interface TestWorkspace {
  id: string;
  path: string;
  owner: Member;
  /** Adds another member with this role. */
  member(role: Role, options?: { verified?: boolean }): Promise<Member>;
}

export interface TestApi {
  url: string;
  db: Db;
  engine: Engine;
  config: Config;
  wakes(): number;
  /** Returns a client that sends this Authorization header; none if absent. */
  client(authorization?: string): Client;
  workspace(): Promise<TestWorkspace>;
  twin(): Promise<Pick<TestApi, 'client' | 'close'>>;
  close(): Promise<void>;
}

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

export interface Overrides extends Partial<Config> {
  isEnding?: () => boolean;
  queues?: EngineName | undefined;
}

/** Starts an application with a workspace before a suite's tests, and closes it after them. */
export function useTestApi(
  given: (started: { api: TestApi; workspace: TestWorkspace }) => unknown,
  overrides: Overrides = {},
): void {
  let api: TestApi | undefined;
  before(async () => {
    api = await startTestApi(overrides);
    await given({ api, workspace: await api.workspace() });
  });
  after(() => api?.close());
}

/** Starts the application on a free port, with a new database and no worker. */
export async function startTestApi({
  isEnding = () => false,
  queues = ENGINES[0],
  ...overrides
}: Overrides = {}): Promise<TestApi> {
  const database = await createTestDatabase();
  const redis = queues === 'redis' && !overrides.redisUrl ? await startRedis() : null;
  const environment = { DATABASE_URL: database.url, SECRETS_KEY, ALLOW_LOCAL_REPOSITORIES: 'true', LOG_LEVEL: 'fatal' };
  const config: Config = {
    ...loadConfig(environment),
    rateLimits: { readsPerMinute: 100_000, writesPerMinute: 100_000 },
    redisUrl: redis && new Sensitive(redis.url),
    ...overrides,
  };
  const log = createLogger('test', 'fatal');
  const engine = await createEngine(config, log, 'test');
  let wakes = 0;
  const dispatcher = { wake: () => void wakes++ };
  const mailer = createMailer(config.mail, log);
  const keyring = new Keyring(config.secretsKey);
  const start = (): Promise<RunningServer> => {
    const app = createApp({ config, db: database.db, engine, dispatcher, keyring, mailer, log, isEnding });
    return startServer(app, 0, { host: '127.0.0.1' });
  };
  const server = await start();
  const { db } = database;

  return {
    url: server.url,
    db,
    engine,
    config,
    wakes: () => wakes,
    client: (authorization) => createClient(server.url, authorization),
    workspace: () => createTestWorkspace(db, server.url),
    async twin() {
      const second = await start();
      return {
        client: (authorization) => createClient(second.url, authorization),
        close: () => second.close(),
      };
    },
    async close() {
      await server.close();
      mailer.close();
      await engine.close();
      await redis?.stop();
      await database.drop();
    },
  };
}

let names = 0;

async function createTestWorkspace(db: Db, url: string): Promise<TestWorkspace> {
  const email = `owner-${++names}@example.com`;
  await makeUser(db, { email });
  const { workspace } = await db.transaction((trx) =>
    createWorkspace(trx, { name: `Workspace ${names}`, owner: email }),
  );
  const { id } = workspace;
  return {
    id,
    path: `/workspaces/${id}`,
    owner: await createMember(db, url, id, email),
    async member(role, { verified = true } = {}) {
      const address = `${role}-${++names}@example.com`;
      await makeUser(db, { email: address, verified });
      await db.transaction((trx) => addMember(trx, { workspaceId: id, email: address, role }));
      return createMember(db, url, id, address);
    },
  };
}

async function createMember(db: Db, url: string, workspaceId: string, email: string): Promise<Member> {
  const key = await newKey(db, workspaceId, email, 'write');
  const readKey = await newKey(db, workspaceId, email, 'read');
  return {
    userId: key.row.user_id,
    email,
    key: key.key,
    keyId: key.row.id,
    client: createClient(url, `Bearer ${key.key}`),
    reader: createClient(url, `Bearer ${readKey.key}`),
  };
}

/** Creates another API key of a member. */
export function newKey(
  db: Db,
  workspaceId: string,
  email: string,
  scope: KeyScope,
  expiresAt: Date | null = null,
): ReturnType<typeof createKey> {
  return createKey(db, { workspaceId, email, scope, name: 'test', expiresAt });
}

function createClient(url: string, authorization?: string): Client {
  const send: Client['send'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${API_ROOT}${path}`, {
      method,
      headers: {
        // On a busy machine, the server may close a kept connection as idle just when a request is sent on it.
        Connection: 'close',
        ...(authorization === undefined ? {} : { Authorization: authorization }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: Json = text === '' ? undefined : JSON.parse(text);
    const { status, headers: answered } = response;
    if (method !== 'HEAD' && method !== 'OPTIONS') {
      assertDocumented({ method, path: API_ROOT + path, status, headers: answered, body: parsed });
    }
    return { status, headers: answered, body: parsed };
  };
  return {
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body = {}, headers) => send('POST', path, body, headers),
    patch: (path, body = {}, headers) => send('PATCH', path, body, headers),
    delete: (path, body, headers) => send('DELETE', path, body, headers),
  };
}

/** Expects an error response with this status and code. */
export function expectError(response: ApiResponse, status: number, code: string): void {
  expect({ status: response.status, code: response.body?.error?.code }, JSON.stringify(response.body)).to.deep.equal({
    status,
    code,
  });
}

/** Creates a service through the API. */
export async function newService(
  client: Client,
  workspacePath: string,
  fields: Record<string, unknown> = {},
): Promise<Json> {
  const body = { name: `service ${++names}`, kind: 'web', ...fields };
  const response = await client.post(`${workspacePath}/services`, body);
  expect(response.status, JSON.stringify(response.body)).to.equal(201);
  return response.body.service;
}
