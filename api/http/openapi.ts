import type { TObject, TSchema } from 'typebox';
import { ERROR_REGISTRY, type ErrorCode } from '../../shared/core/errors.js';
import { VERSION } from '../../shared/core/version.js';
import { POLICIES, type Policy } from '../../shared/identity/policy.js';
import { type Access, API_ROOT, type Endpoint } from './endpoint.js';
import { ErrorResponse, Uuid } from './schema.js';

/** A JSON object of the document. */
export type Json = { [name: string]: unknown };

/**
 * The OpenAPI 3.1 document of routes, made of the same schemas that validate their requests. Schemas with a name (`$id`)
 * become components. The root of the versioned API is the document's server; routes below another root name their own.
 */
export function describeApi(routes: readonly Endpoint[]): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] ??= route.root === API_ROOT ? {} : { servers: [{ url: route.root }] };
    paths[path][route.method.toLowerCase()] = describeOperation(route, components);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ranvier',
      version: VERSION,
      description:
        'A self-hosted hosting platform. Queueing operations answer when the work is queued, not when it is done: poll.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: API_ROOT }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      headers: HEADERS,
      parameters: PARAMETERS,
      responses: errorResponses(components),
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

/** Parameters whose schema several places share. */
const QUERY_TEXTS: Readonly<Record<string, string>> = {
  active: 'true: only deployments that wait or run',
  projectId: 'Only this project',
  environmentId: 'Only this environment',
  source: 'Lines of this source only',
};

const MEANINGS: Record<(typeof ERROR_REGISTRY)[ErrorCode]['status'], string> = {
  400: 'Invalid JSON, values, cursor, confirmation or operation',
  401: 'Authentication is missing, invalid or expired',
  403: 'The role, key scope, e-mail verification, MFA or browser CSRF check failed',
  404: 'The resource does not exist or is outside the caller’s workspace membership',
  405: 'The method is not supported',
  409: 'The request conflicts with the resource, or the queue engine is unavailable',
  413: 'The request body exceeds 262144 bytes, or the canvas is too large',
  429: 'The request rate limit is reached',
  500: 'Unexpected server failure',
  503: 'The request took too long and changed nothing',
};
const ERROR_STATUSES = [...new Set(Object.values(ERROR_REGISTRY).map(({ status }) => status))].sort();

function errorResponses(components: Components): Json {
  return Object.fromEntries(
    ERROR_STATUSES.map((status) => {
      const codes = Object.entries(ERROR_REGISTRY).flatMap(([code, entry]) => (entry.status === status ? [code] : []));
      const names = ['X-Request-ID', ...RATE_LIMIT_HEADERS, ...(status === 429 ? ['Retry-After'] : [])];
      return [
        `Error${status}`,
        {
          description: `${MEANINGS[status]}. Codes: ${codes.join(', ')}`,
          headers: headerReferences(names),
          content: { 'application/json': { schema: components.refer(ErrorResponse) } },
        },
      ];
    }),
  );
}

function describeOperation(endpoint: Endpoint, components: Components): Json {
  const { method, operation, summary, status, response, keyed, body } = endpoint;
  const operationId = operation.replace(/[.-](\w)/g, (_, letter: string) => letter.toUpperCase());
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  const names = ['X-Request-ID', ...RATE_LIMIT_HEADERS, ...(keyed ? ['Idempotency-Replayed'] : [])];
  return {
    operationId,
    tags: [tagOf(endpoint)],
    summary,
    security: securityOf(endpoint),
    parameters: parametersOf(endpoint, components),
    ...(body === null || method === 'GET' ? {} : { requestBody: describeBody(body, components, `${name}Body`) }),
    responses: {
      [status]: {
        description: DESCRIPTIONS[status],
        headers: headerReferences(names),
        content: { 'application/json': { schema: components.refer(response, `${name}Response`) } },
      },
      ...Object.fromEntries(ERROR_STATUSES.map((code) => [code, { $ref: `#/components/responses/Error${code}` }])),
    },
  };
}

/** Some writes of the versioned API want a person: a key that could make members would outlive its own rights. */
function securityOf({ operation, access }: Endpoint): Json[] {
  const policy: Policy | undefined = (POLICIES as Readonly<Record<string, Policy>>)[operation];
  return SECURITY[access === 'key or session' && policy?.sessionOnly ? 'session' : access];
}

function parametersOf({ method, path, query, keyed, access }: Endpoint, components: Components): Json[] {
  const required = new Set(query.required ?? []);
  const writes = method !== 'GET';
  const shared = [
    'X-Request-ID',
    ...(keyed ? ['Idempotency-Key'] : []),
    ...(writes && SECURITY[access].length > 0 ? ['X-CSRFToken'] : []),
  ];
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      description: `The id of the ${name?.replace(/Id$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
      schema: components.refer(Uuid),
    })),
    ...Object.entries(query.properties).map(([name, schema]) => ({
      name,
      in: 'query',
      required: required.has(name),
      description: ('description' in schema ? schema.description : undefined) ?? QUERY_TEXTS[name],
      schema: components.refer(schema),
    })),
    ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function describeBody(body: TObject, components: Components, name: string): Json {
  return {
    required: (body.required ?? []).length > 0,
    content: { 'application/json': { schema: components.refer(body, name) } },
  };
}

function headerReferences(names: string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The tag of `group-variable.list` is `group-variable`. */
function tagOf({ operation }: Endpoint): string {
  return operation.slice(0, operation.indexOf('.'));
}

/** A record's schema with `additionalProperties`: client generators do not know `patternProperties`. */
function asMap({ patternProperties, ...schema }: Json): Json {
  const [record, ...further] = Object.entries(patternProperties ?? {});
  if (!record || further.length > 0) return patternProperties === undefined ? schema : { ...schema, patternProperties };
  const [pattern, additionalProperties] = record;
  return { ...schema, propertyNames: { pattern }, additionalProperties };
}

/** Collects the named schemas that a document refers to. */
class Components {
  readonly schemas: Json = {};

  /** The schema as the document shows it: a reference, if it has a name or gets one. */
  refer(schema: TSchema, name?: string): unknown {
    return this.#convert(name === undefined || '$id' in schema ? schema : { ...schema, $id: name });
  }

  #convert(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#convert(item));
    if (typeof value !== 'object' || value === null) return value;
    const { $id, ...rest } = value as Json;
    // Object.entries leaves out the symbols under which TypeBox keeps its own data.
    const converted = Object.fromEntries(
      Object.entries(asMap(rest)).map(([name, child]) => [name, this.#convert(child)]),
    );
    if (typeof $id !== 'string') return converted;
    this.schemas[$id] = converted;
    return { $ref: `#/components/schemas/${$id}` };
  }
}
