import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { RE2JS } from 're2js';
import { ROUTES } from '../../../api/resources/index.js';
import { ERROR_REGISTRY, type ErrorCode } from '../../../shared/core/error-registry.js';
import { type Json, type TestApi, useTestApi } from '../../support/api.js';
import { assertConforms, DOCUMENT, OPERATIONS } from '../../support/openapi.js';

/** The rules of OpenAPI 3.1 for the parts that our document uses. */
const REFERENCE = {
  type: 'object',
  required: ['$ref'],
  properties: { $ref: { type: 'string' }, description: { type: 'string' } },
  additionalProperties: false,
};
const RULES = {
  type: 'object',
  required: ['openapi', 'info', 'paths', 'servers', 'components'],
  properties: {
    openapi: { type: 'string', pattern: '^3\\.1\\.\\d+$' },
    info: { type: 'object', required: ['title', 'version'] },
    servers: { $ref: '#/$defs/servers' },
    tags: { type: 'array', uniqueItems: true, items: { type: 'object', required: ['name'] } },
    paths: { type: 'object', patternProperties: { '^/': { $ref: '#/$defs/path' } }, additionalProperties: false },
    webhooks: { type: 'object', additionalProperties: { $ref: '#/$defs/path' } },
    components: {
      type: 'object',
      properties: {
        schemas: { $ref: '#/$defs/named' },
        headers: { $ref: '#/$defs/named', additionalProperties: { $ref: '#/$defs/header' } },
        parameters: { $ref: '#/$defs/named', additionalProperties: { $ref: '#/$defs/parameter' } },
        responses: { $ref: '#/$defs/named', additionalProperties: { $ref: '#/$defs/response' } },
        securitySchemes: { $ref: '#/$defs/named', additionalProperties: { $ref: '#/$defs/scheme' } },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
  $defs: {
    named: { type: 'object', propertyNames: { pattern: '^[a-zA-Z0-9._-]+$' } },
    servers: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['url'],
        additionalProperties: false,
        properties: { url: { type: 'string' }, description: { type: 'string' } },
      },
    },
    path: {
      type: 'object',
      patternProperties: { '^(get|put|post|delete|patch)$': { $ref: '#/$defs/operation' } },
      additionalProperties: false,
    },
    operation: {
      type: 'object',
      required: ['operationId', 'responses', 'summary', 'description', 'tags', 'security'],
      properties: {
        operationId: { type: 'string', pattern: '^[A-Za-z]+$' },
        summary: { type: 'string', minLength: 1, maxLength: 60 },
        description: { type: 'string', pattern: '^\\w.*\\.$' },
        'x-error-codes': { type: 'array', uniqueItems: true, items: { enum: Object.keys(ERROR_REGISTRY) } },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
        security: { type: 'array', items: { type: 'object', additionalProperties: { type: 'array' } } },
        parameters: {
          type: 'array',
          uniqueItems: true,
          items: { anyOf: [REFERENCE, { $ref: '#/$defs/parameter' }] },
        },
        requestBody: {
          type: 'object',
          required: ['content'],
          properties: { required: { type: 'boolean' }, content: { $ref: '#/$defs/content' } },
          additionalProperties: false,
        },
        responses: {
          type: 'object',
          minProperties: 1,
          patternProperties: { '^[1-5]\\d\\d$': { anyOf: [REFERENCE, { $ref: '#/$defs/response' }] } },
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
    parameter: {
      type: 'object',
      required: ['name', 'in', 'schema'],
      properties: {
        name: { type: 'string' },
        in: { enum: ['path', 'query', 'header'] },
        description: { type: 'string' },
        required: { type: 'boolean' },
        schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' },
        example: {},
      },
      if: { properties: { in: { const: 'path' } } },
      // biome-ignore lint/suspicious/noThenProperty: it is JSON Schema's
      then: { required: ['required'], properties: { required: { const: true } } },
      additionalProperties: false,
    },
    header: {
      type: 'object',
      required: ['schema'],
      properties: { description: { type: 'string' }, schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' } },
      additionalProperties: false,
    },
    content: {
      type: 'object',
      minProperties: 1,
      additionalProperties: {
        type: 'object',
        required: ['schema'],
        properties: { schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' }, example: {} },
        additionalProperties: false,
      },
    },
    response: {
      type: 'object',
      required: ['description'],
      properties: {
        description: { type: 'string', minLength: 1 },
        headers: { type: 'object', additionalProperties: REFERENCE },
        content: { $ref: '#/$defs/content' },
      },
      additionalProperties: false,
    },
    scheme: {
      type: 'object',
      oneOf: [
        { required: ['scheme'], properties: { type: { const: 'http' } } },
        {
          required: ['name', 'in'],
          properties: { type: { const: 'apiKey' }, in: { enum: ['query', 'header', 'cookie'] } },
        },
      ],
    },
  },
};

describe('The OpenAPI document', () => {
  let api: TestApi;

  useTestApi((given) => ({ api } = given));

  it('is served without a credential, and is the one that tests compare answers with', async () => {
    const response = await fetch(`${api.url}/api/v1/openapi.json`);
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.match(/^application\/json/);
    expect(response.headers.get('x-request-id')).to.be.a('string');
    expect(await response.json()).to.deep.equal(DOCUMENT);
  });

  it('keeps the rules of OpenAPI 3.1, its schemas those of JSON Schema 2020-12', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    const validate = ajv.compile(RULES);
    expect(validate(DOCUMENT), JSON.stringify(validate.errors?.slice(0, 5), null, 1)).to.equal(true);
    for (const [name, schema] of Object.entries<Json>(DOCUMENT.components.schemas)) {
      expect(ajv.validateSchema(schema), `${name}: ${JSON.stringify(ajv.errors)}`).to.equal(true);
    }
  });

  it('every reference leads somewhere, and every component is referred to', () => {
    const references = new Set<string>();
    JSON.stringify(DOCUMENT, (name, value) => {
      if (name === '$ref') references.add(value);
      return value;
    });
    const found = (pointer: string) =>
      pointer
        .slice(2)
        .split('/')
        .reduce((place: Json, name) => place?.[name], DOCUMENT);
    for (const reference of references) expect(found(reference), reference).to.be.an('object');
    for (const kind of ['schemas', 'headers', 'parameters', 'responses']) {
      for (const name of Object.keys(DOCUMENT.components[kind])) {
        expect([...references]).to.include(`#/components/${kind}/${name}`);
      }
    }
  });

  it('has every operation of the API and of sessions once, with an id of its own', () => {
    const documented = OPERATIONS.map(({ method, fullPath }) => `${method} ${fullPath}`);
    const declared = ROUTES.map(({ method, root, path }) => `${method} ${root}${path}`.replace(/:(\w+)/g, '{$1}'));
    expect(documented).to.have.members(declared);
    expect(new Set(OPERATIONS.map(({ operation }) => operation.operationId)).size).to.equal(OPERATIONS.length);
  });

  it('every operation has its path’s parameters, the shared headers and an ErrorResponse for each code it names', () => {
    for (const { method, path, operation } of OPERATIONS) {
      const what = `${method} ${path}`;
      const parameters = operation.parameters.map(
        (parameter: Json) => parameter.name ?? parameter.$ref.slice('#/components/parameters/'.length),
      );
      const inPath = operation.parameters.flatMap((parameter: Json) =>
        parameter.in === 'path' ? [parameter.name] : [],
      );
      expect(inPath, what).to.deep.equal([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      expect(parameters, what).to.include('X-Request-ID');
      const writes = method !== 'GET' && operation.security.some((scheme: Json) => 'session' in scheme);
      expect(parameters.includes('X-CSRFToken'), what).to.equal(writes);
      const codes: ErrorCode[] = operation['x-error-codes'];
      const documented = Object.keys(operation.responses).filter((status) => Number(status) >= 400);
      expect(documented, what).to.have.members([...new Set(codes.map((code) => String(ERROR_REGISTRY[code].status)))]);
      for (const code of codes) {
        const { status, message } = ERROR_REGISTRY[code];
        const { $ref, description } = operation.responses[status];
        expect($ref, what).to.equal(`#/components/responses/Error${status}`);
        expect(description, what).to.contain(`${code}: ${message}`);
      }
      if (method === 'GET') expect(operation, what).to.not.have.property('requestBody');
      else expect(operation.requestBody.content, what).to.have.property('application/json');
    }
    for (const { content } of Object.values<Json>(DOCUMENT.components.responses)) {
      expect(content['application/json'].schema).to.deep.equal({ $ref: '#/components/schemas/ErrorResponse' });
    }
    expect(DOCUMENT.components.responses.Error503.description).to.match(/too long.*database/);
  });

  it('an operation names no error that it cannot have', () => {
    const codesOf = (id: string) =>
      OPERATIONS.find(({ operation }) => operation.operationId === id)?.operation['x-error-codes'];
    const always = ['invalid_request', 'rate_limited', 'internal_error', 'request_timeout', 'database_unavailable'];
    expect(codesOf('sessionBootstrap')).to.have.members(always);
    const known = [...always, 'unauthenticated', 'csrf_failed'];
    expect(codesOf('catalogRead')).to.have.members(known);
    expect(codesOf('serviceList')).to.have.members([...known, 'forbidden', 'not_found', 'invalid_cursor']);
  });

  it('has an example that its schema accepts for every body, answer, delivery and query parameter', () => {
    const examples: [string, Json][] = Object.entries<Json>(DOCUMENT.webhooks).map(([event, { post }]) => [
      event,
      post.requestBody.content['application/json'],
    ]);
    for (const { operation } of OPERATIONS) {
      const { operationId, requestBody, parameters, responses } = operation;
      if (requestBody) {
        const content = requestBody.content['application/json'];
        const { properties } = DOCUMENT.components.schemas[content.schema.$ref.split('/').at(-1)];
        if (Object.keys(properties).some((name) => name !== 'requestId')) {
          expect(content.example, operationId).to.not.deep.equal({});
        }
        examples.push([`${operationId} body`, content]);
      }
      for (const { content } of Object.values<Json>(responses)) {
        if (content) examples.push([`${operationId} answer`, content['application/json']]);
      }
      for (const parameter of parameters) {
        if (parameter.in === 'query') examples.push([`${operationId} ${parameter.name}`, parameter]);
      }
    }
    for (const [what, { schema, example }] of examples) assertConforms(schema, example, what);
  });

  it('has patterns that RE2 and Python compile', () => {
    const patterns = new Set<string>();
    JSON.stringify(DOCUMENT, (name, value) => {
      if (name === 'pattern' && typeof value === 'string') patterns.add(value);
      return value;
    });
    expect(patterns.size).to.be.greaterThan(10);
    for (const pattern of patterns) {
      expect(() => RE2JS.compile(pattern), pattern).to.not.throw();
      // Python's re has neither classes of properties nor hexadecimal escapes in braces.
      expect(pattern).to.not.match(/\\[pPux]\{/);
    }
  });

  it('names every enum, and describes every tag', () => {
    const bare: string[] = [];
    const look = (value: Json, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      if (Array.isArray(value.enum) && !/^\/components\/(schemas\/\w+|headers\/[^/]+\/schema)$/.test(path))
        bare.push(path);
      for (const [name, child] of Object.entries<Json>(value)) if (name !== 'example') look(child, `${path}/${name}`);
    };
    look(DOCUMENT, '');
    expect(bare).to.deep.equal([]);
    const used = new Set(OPERATIONS.flatMap(({ operation }) => operation.tags));
    expect(DOCUMENT.tags.map(({ name }: Json) => name)).to.have.members([...used]);
  });

  it('every request and response body has a name, and operations that refuse keys do not offer them', () => {
    for (const { method, path, operation } of OPERATIONS) {
      const { content } = operation.requestBody ?? {};
      for (const given of [content, ...Object.values<Json>(operation.responses).map((response) => response.content)]) {
        if (given !== undefined) expect(given['application/json'].schema, `${method} ${path}`).to.have.property('$ref');
      }
    }
    const refused = OPERATIONS.filter(({ operation }) => !operation.security.some((way: Json) => 'bearer' in way));
    const versioned = refused.filter(({ fullPath }) => fullPath.startsWith('/api/v1'));
    expect(versioned.map(({ operation }) => operation.operationId)).to.have.members([
      'memberCreate',
      'memberUpdate',
      'invitationCreate',
      'signInUpdate',
      'keyCreate',
    ]);
    for (const { description } of Object.values<Json>(DOCUMENT.components.responses)) {
      expect(description).to.not.contain('undefined');
    }
  });

  it('Idempotency-Key is a parameter of every write but the canvas’, the sessions’, plans, detection, domain checks, shells, tunnels, credentials, invitations and new keys', () => {
    const without = OPERATIONS.filter(
      ({ method, operation }) => method !== 'GET' && !JSON.stringify(operation.parameters).includes('Idempotency-Key'),
    ).map(({ fullPath }) => fullPath);
    expect(without.filter((path) => path.startsWith('/api/v1'))).to.deep.equal([
      '/api/v1/workspaces/{workspaceId}/webhooks',
      '/api/v1/workspaces/{workspaceId}/stacks/plan',
      '/api/v1/workspaces/{workspaceId}/stacks/import',
      '/api/v1/workspaces/{workspaceId}/templates/{templateName}/fill',
      '/api/v1/workspaces/{workspaceId}/detect',
      '/api/v1/workspaces/{workspaceId}/services/{serviceId}/shells',
      '/api/v1/workspaces/{workspaceId}/services/{serviceId}/tunnels',
      '/api/v1/workspaces/{workspaceId}/services/{serviceId}/credentials',
      '/api/v1/workspaces/{workspaceId}/services/{serviceId}/hooks',
      '/api/v1/workspaces/{workspaceId}/services/{serviceId}/domains/{domainId}/verify',
      '/api/v1/workspaces/{workspaceId}/canvas',
      '/api/v1/workspaces/{workspaceId}/invitations',
      '/api/v1/workspaces/{workspaceId}/keys',
    ]);
  });

  const FIELDS = {
    Workspace: 'id name plan role billing entitlements configuration',
    WorkspaceConfiguration:
      'allowOverages avatarColor budget budgetAlerts buildConcurrency currency defaultRegion deployNotifications description includePreviewLogs notificationEmail overlappingDeploys previewNotifications recordShells requireMfa securityContact timezone',
    Project: 'id name description color environments createdAt updatedAt',
    Service:
      'id name kind archived configuration projectId environmentId environmentGroupIds status displayStatus lifecycleStatus healthStatus healthCheckedAt runtimeDetail url internalHost deploymentId deploymentUpdatedAt liveDeploymentId estimatedMonthly createdAt updatedAt deletedAt deletionRequestedAt',
    Deployment:
      'id status trigger actor branch commitSha commitMessage blockedReason error canRollback cancelRequested sourceDeploymentId createdAt startedAt finishedAt steps',
    Operation: 'id kind status createdAt updatedAt',
    Variable: 'id key kind configured value createdAt updatedAt',
    LogLine: 'id level message source timestamp',
    Page: 'limit hasMore nextCursor',
    Catalog: 'capabilities defaults plans databasePlans pricesAreEstimates regions runtimes serviceTypes',
    Plan: 'id name usd ngn',
    Canvas: 'nodes groups edges layout scope',
    CanvasGroup: 'id name environmentId serviceIds',
    CanvasEdge: 'id source target kind',
  };
  for (const [name, fields] of Object.entries(FIELDS)) {
    it(`${name} always has the specification’s fields`, () => {
      expect(DOCUMENT.components.schemas[name].required).to.have.members(fields.split(' '));
    });
  }
});

describe('The page that reads the document', () => {
  let api: TestApi;

  useTestApi((given) => ({ api } = given));

  it('is served without a credential, loads nothing from other hosts, and everything it loads exists', async () => {
    const page = await fetch(`${api.url}/api/docs`);
    expect(page.status).to.equal(200);
    expect(page.headers.get('content-type')).to.match(/^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).to.contain("default-src 'none'").and.contain("script-src 'self'").and.contain("connect-src 'self'");
    expect(policy).to.not.match(/https?:|\*|unsafe-eval/);
    const html = await page.text();
    expect(html).to.not.match(/https?:\/\//);
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');
    expect(loaded).to.have.length(4);
    for (const path of loaded) {
      const asset = await fetch(new URL(path, `${api.url}/api/docs`));
      expect(asset.status, path).to.equal(200);
      expect((await asset.arrayBuffer()).byteLength, path).to.be.greaterThan(100);
    }
    const script = await (await fetch(`${api.url}/api/docs/page.js`)).text();
    expect(script).to.contain("url: '/api/v1/openapi.json'").and.contain('validatorUrl: null');
    expect(script).to.not.match(/https?:\/\//);
  });

  it('serves nothing else of the package', async () => {
    for (const path of ['package.json', '..%2fpackage.json', 'swagger-initializer.js']) {
      expect((await fetch(`${api.url}/api/docs/${path}`)).status, path).to.equal(404);
    }
  });
});
