import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAjv } from '../../api/http/schema.js';

/**
 * Checks requests against GitHub's OpenAPI description (github/rest-api-description, version 2022-11-28), Gitea's
 * Swagger document, and GitLab's pages on commits and notes.
 */

export type ForgeKind = 'github' | 'gitlab' | 'gitea';

interface Operation {
  method: string;
  path: RegExp;
  /** The schema of the body; null if there is none. Unlike the published descriptions, it refuses unknown fields. */
  body: object | null;
  answer: (forge: FakeForge, match: RegExpExecArray, body: Body) => { status: number; json: unknown };
}

type Body = Record<string, unknown>;

const text = { type: 'string' };
const strict = (properties: Record<string, object>, required: string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const link = { type: 'string', pattern: '^https?://' };
const described = { type: 'string', maxLength: 140 };
const COMMENT = strict({ body: { type: 'string', minLength: 1, maxLength: 65_536 } }, ['body']);
const states = (...names: string[]) => ({ enum: names });

const created = (forge: FakeForge, number: string, body: Body) => ({
  status: 201,
  json: forge.addComment(number, body),
});
const edited = (forge: FakeForge, id: string, body: Body) => {
  const comment = forge.comments.find((one) => one.id === Number(id));
  if (!comment) return { status: 404, json: { message: 'Not Found' } };
  comment.body = String(body.body);
  return { status: 200, json: comment };
};
const listed = (forge: FakeForge, number: string) => ({
  status: 200,
  json: forge.comments.filter((one) => one.number === number),
});
const noted = (forge: FakeForge, sha: string, body: Body) => {
  forge.statuses.push({ sha, ...body });
  return { status: 201, json: { id: forge.statuses.length } };
};

const SHA = '([0-9a-f]{40})';
const statusBody = (...names: string[]) =>
  strict({ state: states(...names), target_url: link, description: described, context: text }, ['state']);
const SINCE = '(?:per_page=\\d+&)?since=\\d{4}-\\d\\d-\\d\\dT[\\d%A.]+Z';

const issues = (repository: string): Operation[] => [
  {
    method: 'POST',
    path: new RegExp(`^${repository}/issues/(\\d+)/comments$`),
    body: COMMENT,
    answer: (forge, [, number = ''], body) => created(forge, number, body),
  },
  {
    method: 'PATCH',
    path: new RegExp(`^${repository}/issues/comments/(\\d+)$`),
    body: COMMENT,
    answer: (forge, [, id = ''], body) => edited(forge, id, body),
  },
  {
    method: 'GET',
    path: new RegExp(`^${repository}/issues/(\\d+)/comments\\?${SINCE}$`),
    body: null,
    answer: (forge, [, number = '']) => listed(forge, number),
  },
];

const OPERATIONS: Record<ForgeKind, Operation[]> = {
  github: [
    {
      method: 'POST',
      path: new RegExp(`^/repos/team/shop/statuses/${SHA}$`),
      body: statusBody('error', 'failure', 'pending', 'success'),
      answer: (forge, [, sha = ''], body) => noted(forge, sha, body),
    },
    ...issues('/repos/team/shop'),
    {
      method: 'POST',
      path: /^\/repos\/team\/shop\/deployments$/,
      body: strict(
        {
          ref: text,
          task: text,
          auto_merge: { type: 'boolean' },
          required_contexts: { type: 'array', items: text },
          payload: { type: ['object', 'string'] },
          environment: text,
          description: { type: ['string', 'null'] },
          transient_environment: { type: 'boolean' },
          production_environment: { type: 'boolean' },
        },
        ['ref'],
      ),
      answer: (forge, _, body) => {
        forge.deployments.push({
          id: forge.nextId(),
          ref: String(body.ref),
          environment: String(body.environment),
          payload: body.payload ?? {},
          states: [],
        });
        return { status: 201, json: forge.deployments.at(-1) };
      },
    },
    {
      method: 'GET',
      path: new RegExp(`^/repos/team/shop/deployments\\?sha=${SHA}&environment=([\\w-]+)$`),
      body: null,
      answer: (forge, [, sha, environment]) => ({
        status: 200,
        json: forge.deployments.filter((one) => one.ref === sha && one.environment === environment),
      }),
    },
    {
      method: 'POST',
      path: /^\/repos\/team\/shop\/deployments\/(\d+)\/statuses$/,
      body: strict(
        {
          state: states('error', 'failure', 'inactive', 'in_progress', 'queued', 'pending', 'success'),
          target_url: link,
          log_url: link,
          description: described,
          environment: text,
          environment_url: link,
          auto_inactive: { type: 'boolean' },
        },
        ['state'],
      ),
      answer: (forge, [, id = ''], body) => {
        const deployment = forge.deployments.find((one) => one.id === Number(id));
        deployment?.states.push(body);
        return deployment
          ? { status: 201, json: { id: forge.nextId() } }
          : { status: 404, json: { message: 'Not Found' } };
      },
    },
  ],
  gitea: [
    {
      method: 'POST',
      path: new RegExp(`^/repos/team/shop/statuses/${SHA}$`),
      body: statusBody('pending', 'success', 'error', 'failure', 'warning', 'skipped'),
      answer: (forge, [, sha = ''], body) => noted(forge, sha, body),
    },
    ...issues('/repos/team/shop'),
  ],
  gitlab: [
    {
      method: 'POST',
      path: new RegExp(`^/projects/team%2Fshop/statuses/${SHA}$`),
      body: strict(
        {
          state: states('pending', 'running', 'success', 'failed', 'canceled', 'skipped'),
          ref: text,
          name: text,
          context: text,
          target_url: { ...link, maxLength: 255 },
          description: { type: 'string', maxLength: 255 },
          coverage: { type: 'number' },
          pipeline_id: { type: 'integer' },
        },
        ['state'],
      ),
      answer: (forge, [, sha = ''], body) => {
        const last = forge.statuses.findLast((one) => one.sha === sha)?.state;
        if (last !== body.state || (last !== 'pending' && last !== 'running')) return noted(forge, sha, body);
        return { status: 400, json: { message: `Cannot transition status via :run from :${last}` } };
      },
    },
    {
      method: 'POST',
      path: /^\/projects\/team%2Fshop\/merge_requests\/(\d+)\/notes$/,
      body: COMMENT,
      answer: (forge, [, number = ''], body) => created(forge, number, body),
    },
    {
      method: 'PUT',
      path: /^\/projects\/team%2Fshop\/merge_requests\/\d+\/notes\/(\d+)$/,
      body: COMMENT,
      answer: (forge, [, id = ''], body) => edited(forge, id, body),
    },
    {
      method: 'GET',
      path: /^\/projects\/team%2Fshop\/merge_requests\/(\d+)\/notes\?sort=desc&order_by=created_at&per_page=\d+$/,
      body: null,
      answer: (forge, [, number = '']) => listed(forge, number),
    },
  ],
};

const SECRET_HEADERS: Record<ForgeKind, (token: string) => [string, string]> = {
  github: (token) => ['authorization', `Bearer ${token}`],
  gitea: (token) => ['authorization', `token ${token}`],
  gitlab: (token) => ['private-token', token],
};

const ajv = createAjv();

interface Answer {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
  /** True if the request is carried out, although this is answered. */
  done?: boolean;
}

type Trouble = Answer | 'never' | null;

export class FakeForge {
  readonly statuses: (Body & { sha: string })[] = [];
  readonly comments: { id: number; number: string; body: string }[] = [];
  readonly deployments: { id: number; ref: string; environment: string; payload: unknown; states: Body[] }[] = [];
  readonly problems: string[] = [];
  requests = 0;
  /** Returns what is answered instead of the usual; `'never'` for no answer. */
  trouble: (request: { method: string; path: string }) => Trouble | Promise<Trouble> = () => null;
  #ids = 100;

  readonly #kind: ForgeKind;
  readonly #token: string;
  readonly #server: Server;

  private constructor(kind: ForgeKind, token: string, server: Server) {
    this.#kind = kind;
    this.#token = token;
    this.#server = server;
  }

  static async start(kind: ForgeKind, token: string): Promise<FakeForge> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const forge = new FakeForge(kind, token, server);
    server.on('request', (request, response) => void forge.#answer(request, response));
    return forge;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  nextId(): number {
    return ++this.#ids;
  }

  addComment(number: string, { body }: Body): object {
    const comment = { id: this.nextId(), number, body: String(body) };
    this.comments.push(comment);
    return comment;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let given = '';
    for await (const chunk of request) given += chunk;
    this.requests++;
    const { method = '', url = '' } = request;
    const path = url.slice('/api'.length);
    const trouble = await this.trouble({ method, path });
    const usual = () => this.#carryOut(request, { method, path, given });
    if (trouble === 'never') {
      usual();
      return;
    }
    if (trouble?.done) usual();
    const { status, headers = {}, json } = trouble ?? usual();
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(json ?? {}));
  }

  #carryOut(
    request: IncomingMessage,
    { method, path, given }: { method: string; path: string; given: string },
  ): Answer {
    const problem = (message: string): Answer => {
      this.problems.push(`${method} ${path}: ${message}`);
      return { status: 422, json: { message } };
    };
    const [header, value] = SECRET_HEADERS[this.#kind](this.#token);
    if (request.headers[header] !== value) return { status: 401, json: { message: 'Bad credentials' } };
    if (!request.headers['user-agent']) return problem('no User-Agent');
    if (given.includes(this.#token)) return problem('the body has the token');
    for (const operation of OPERATIONS[this.#kind]) {
      const match = operation.method === method ? operation.path.exec(path) : null;
      if (!match) continue;
      const body = given === '' ? null : JSON.parse(given);
      if (operation.body === null ? body !== null : !ajv.validate(operation.body, body))
        return problem(`${ajv.errorsText()} in ${given}`);
      if (body !== null && request.headers['content-type'] !== 'application/json') return problem('no JSON');
      return operation.answer(this, match, body ?? {});
    }
    return problem('no such operation');
  }
}
