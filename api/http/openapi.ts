import type { TSchema } from 'typebox';
import { ERROR_REGISTRY, type ErrorCode } from '../../shared/core/error-registry.js';
import { VERSION } from '../../shared/core/version.js';
import { type Access, type Endpoint, NAME_PARAMETERS, SESSION_ROOT } from './endpoint.js';
import { errorCodesOf, isTransient, policyOf } from './error-codes.js';
import { type Json, SchemaComponents } from './openapi-schemas.js';
import { ErrorResponse, Uuid } from './schema.js';
import { exampleOf } from './schema-example.js';

export interface ApiTexts {
  /** Tag → description. An operation's tag is the part of its name before the dot. */
  tags: Readonly<Record<string, string>>;
  /** Webhook deliveries: event → description and schema of the body. */
  deliveries: Readonly<Record<string, { description: string; body: TSchema }>>;
}

/** Returns the OpenAPI 3.1 document. It has one server, because client generators ignore servers of single paths. */
export function describeApi(routes: readonly Endpoint[], { tags, deliveries }: ApiTexts): Json {
  const components = new SchemaComponents();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = (route.root + route.path).slice(SESSION_ROOT.length).replace(/:(\w+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = describeOperation(route, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ranvier',
      version: VERSION,
      description:
        'A self-hosted hosting platform. An operation that queues work answers when the work is queued, not when it is done: read the ' +
        'deployment, operation, run or backup until it has ended. A method that a path does not have is answered with 405 method_not_allowed.',
      contact: { name: 'The operator of this installation' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: SESSION_ROOT, description: 'This installation' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: describeDeliveries(deliveries, components),
    components: {
      securitySchemes: SECURITY_SCHEMES,
      headers: HEADERS,
      parameters: PARAMETERS,
      responses: errorResponses(routes, components),
      schemas: components.schemas,
    },
  };
}

const DESCRIPTIONS: Record<Endpoint['status'], string> = { 200: 'Success', 201: 'Created', 202: 'Accepted' };

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A workspace’s key: rnv_…' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'ranvier_session',
    description: 'A browser’s session; its writes need X-CSRFToken too. Under TLS the name begins with __Host-.',
  },
};

const SECURITY: Record<Access, Json[]> = {
  anyone: [],
  'signing-in': [],
  session: [{ session: [] }],
  'key or session': [{ bearer: [] }, { session: [] }],
};

const HEADERS = {
  'X-Request-ID': { description: 'The request’s id, as accepted or generated', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: 'Whether this is the retained answer of an earlier request; absent if no key receipt is used',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'Retry-After': { description: 'Seconds until a request may succeed', schema: { type: 'integer', minimum: 1 } },
  'RateLimit-Limit': { description: 'Requests in a window', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in this window', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the next window', schema: { type: 'integer' } },
};
const RATE_LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

const PARAMETERS = {
  'X-Request-ID': {
    name: 'X-Request-ID',
    in: 'header',
    description: 'Identifies the request in answers and logs; an invalid value is replaced',
    schema: { type: 'string', maxLength: 64, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key with the same payload gets the answer of the first success again, for 24 hours',
    schema: { type: 'string', minLength: 1, maxLength: 160, pattern: '^[!-~]+$' },
  },
  'X-CSRFToken': {
    name: 'X-CSRFToken',
    in: 'header',
    description: 'The csrfToken of /api/bootstrap; needed by a session, not by a key',
    schema: { type: 'string' },
  },
};

const MEANINGS: Record<(typeof ERROR_REGISTRY)[ErrorCode]['status'], string> = {
  400: 'Invalid JSON, values, cursor, confirmation or operation',
  401: 'Authentication is missing, invalid or expired',
  403: 'The role, key scope, e-mail verification, MFA or browser CSRF check failed',
  404: 'The resource does not exist or is outside the caller’s workspace membership',
  405: 'The path has no such method',
  409: 'The request conflicts with the resource, or the queue engine is unavailable',
  413: 'The request body exceeds 262144 bytes, or the canvas is too large',
  429: 'The request rate limit is reached',
  500: 'Unexpected server failure',
  503: 'The request took too long and changed nothing, or the database cannot be reached now',
};

function errorResponses(routes: readonly Endpoint[], components: SchemaComponents): Json {
  const codes = new Set(routes.flatMap(errorCodesOf));
  return Object.fromEntries(
    Object.entries(byStatus([...codes])).map(([status, [code = 'internal_error']]) => {
      const names = ['X-Request-ID', ...RATE_LIMIT_HEADERS, ...(isTransient(Number(status)) ? ['Retry-After'] : [])];
      const example: ErrorResponse = {
        error: { code, message: ERROR_REGISTRY[code].message },
        requestId: '0198c0de-0000-7000-8000-00000000000f',
      };
      return [
        `Error${status}`,
        {
          description: MEANINGS[ERROR_REGISTRY[code].status],
          headers: headerReferences(names),
          content: { 'application/json': { schema: components.refer(ErrorResponse), example } },
        },
      ];
    }),
  );
}

function byStatus(codes: readonly ErrorCode[]): Record<string, ErrorCode[]> {
  const groups: Record<string, ErrorCode[]> = {};
  for (const code of codes) {
    const { status } = ERROR_REGISTRY[code];
    groups[status] = [...(groups[status] ?? []), code];
  }
  return groups;
}

function describeOperation(endpoint: Endpoint, components: SchemaComponents): Json {
  const { operation, summary, description, status, response, keyed } = endpoint;
  const operationId = operation.replace(/[.-](\w)/g, (_, letter: string) => letter.toUpperCase());
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  const names = ['X-Request-ID', ...RATE_LIMIT_HEADERS, ...(keyed ? ['Idempotency-Replayed'] : [])];
  const errors = errorCodesOf(endpoint);
  return {
    operationId,
    tags: [tagOf(endpoint)],
    summary,
    description,
    security: securityOf(endpoint),
    parameters: parametersOf(endpoint, components),
    ...describeBody(endpoint, components, `${name}Body`),
    responses: {
      [status]: {
        description: DESCRIPTIONS[status],
        headers: headerReferences(names),
        content: {
          'application/json': { schema: components.refer(response, `${name}Response`), example: exampleOf(response) },
        },
      },
      ...Object.fromEntries(
        Object.entries(byStatus(errors)).map(([code, group]) => [
          code,
          { $ref: `#/components/responses/Error${code}`, description: group.map(errorText).join(' · ') },
        ]),
      ),
    },
    'x-error-codes': errors,
  };
}

function errorText(code: ErrorCode): string {
  return `${code}: ${ERROR_REGISTRY[code].message}`;
}

/** Operations that grant people access need a session: a member added with a key would outlive the key. */
function securityOf({ operation, access }: Endpoint): Json[] {
  return SECURITY[policyOf(operation)?.sessionOnly ? 'session' : access];
}

function parametersOf({ method, path, query, keyed, access }: Endpoint, components: SchemaComponents): Json[] {
  const required = new Set(query.required ?? []);
  const writes = method !== 'GET';
  const shared = [
    'X-Request-ID',
    ...(keyed ? ['Idempotency-Key'] : []),
    ...(writes && SECURITY[access].length > 0 ? ['X-CSRFToken'] : []),
  ];
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = '']) => pathParameter(name, components)),
    ...Object.entries(query.properties).map(([name, schema]) => ({
      name,
      in: 'query',
      required: required.has(name),
      description: 'description' in schema ? schema.description : undefined,
      schema: components.refer(schema),
      example: exampleOf(schema, name),
    })),
    ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function pathParameter(name: string, components: SchemaComponents): Json {
  const pattern = NAME_PARAMETERS[name];
  const part = pattern === undefined ? 'id' : 'name';
  const owner = name.replace(/(Id|Name)$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return {
    name,
    in: 'path',
    required: true,
    description: `The ${part} of the ${owner}`,
    schema: pattern === undefined ? components.refer(Uuid) : { type: 'string', pattern },
  };
}

function describeBody({ method, body, example }: Endpoint, components: SchemaComponents, name: string): Json {
  if (body === null || method === 'GET') return {};
  return {
    requestBody: {
      required: (body.required ?? []).length > 0,
      content: {
        'application/json': { schema: components.refer(body, name), example: example ?? exampleOf(body) },
      },
    },
  };
}

function headerReferences(names: string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function tagOf({ operation }: Endpoint): string {
  return operation.slice(0, operation.indexOf('.'));
}

const DELIVERY_HEADERS: Readonly<Record<string, string>> = {
  'X-Ranvier-Event': 'The event',
  'X-Ranvier-Delivery': 'The id of the delivery; further tries have the same one',
  'X-Ranvier-Signature':
    't=<seconds>,v1=<hex>: the HMAC-SHA256 of <seconds>.<body> with the secret of the webhook. Refuse old seconds',
};

function describeDeliveries(deliveries: ApiTexts['deliveries'], components: SchemaComponents): Json {
  const parameters = Object.entries(DELIVERY_HEADERS).map(([name, description]) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
  }));
  return Object.fromEntries(
    Object.entries(deliveries).map(([event, { description, body }]) => {
      const name = event.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
      return [
        event,
        {
          post: {
            operationId: `on${name}`,
            tags: ['webhook'],
            summary: description,
            description:
              'Sent at least once. Any 2xx status accepts it, 410 ends its tries, and any other answer, or none within ten seconds, is tried ' +
              'again for about a day.',
            security: [],
            parameters,
            requestBody: {
              required: true,
              content: {
                'application/json': { schema: components.refer(body, `${name}Delivery`), example: exampleOf(body) },
              },
            },
            responses: { 200: { description: 'Accepted' }, 410: { description: 'Not wanted: it is not tried again' } },
          },
        },
      ];
    }),
  );
}
