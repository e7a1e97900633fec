import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { apiDocument } from '../../api/resources/api-document.js';
import { stringFormats } from '../../shared/core/string-formats.js';
import type { Json } from './api.js';

/** The OpenAPI document of the application. Each API test checks its answers against it. */
export const DOCUMENT: Json = JSON.parse(JSON.stringify(apiDocument()));

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
addFormats.default(ajv);
for (const [name, validate] of Object.entries(stringFormats(() => new Date()))) ajv.addFormat(name, validate);
ajv.addSchema(DOCUMENT, 'document');
const validators = new Map<string, ValidateFunction>();

export interface DocumentedOperation {
  method: string;
  /** The path below the server, with parameters in braces. */
  path: string;
  fullPath: string;
  operation: Json;
}

export const OPERATIONS: readonly DocumentedOperation[] = Object.entries<Json>(DOCUMENT.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item)
    .filter(([method]) => ['get', 'post', 'patch', 'put', 'delete'].includes(method))
    .map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      fullPath: DOCUMENT.servers[0].url + path,
      operation,
    })),
);

export interface Answered {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  body: Json;
}

const ERROR = '/components/schemas/ErrorResponse';
const OURS = /^(x-request-id|retry-after|ratelimit-|idempotency-)/;

/** Throws unless the document allows this status, these headers and this body for the operation. */
export function assertDocumented({ method, path, status, headers, body }: Answered): void {
  const what = `${method} ${path} ${status}`;
  expect(headers.get('x-request-id'), what).to.be.a('string').and.not.equal('');
  expect(headers.get('content-type'), what).to.match(/^application\/json/);
  if (status >= 400) expect(body.requestId, what).to.equal(headers.get('x-request-id'));
  const found = operationOf(method, path);
  if (!found) {
    expect(status, `${what}: the document knows no such operation`).to.be.oneOf([404, 405]);
    assertSchema(ERROR, body, what);
    return;
  }
  const pointer = `/paths/${pointerOf(found.path)}/${method.toLowerCase()}/responses/${status}`;
  expect(found.operation.responses, what).to.have.property(String(status));
  const given = found.operation.responses[status];
  const at = given.$ref === undefined ? pointer : given.$ref.slice(1);
  const response = given.$ref === undefined ? given : DOCUMENT.components.responses[given.$ref.split('/').at(-1)];
  if (status >= 400) expect(found.operation['x-error-codes'], what).to.include(body.error.code);
  assertHeaders(response.headers, headers, what);
  assertSchema(`${at}/content/application~1json/schema`, body, what);
}

/** Throws unless the value conforms to a schema of the document. */
export function assertConforms(schema: Json, value: unknown, what: string): void {
  const validate = ajv.compile('$ref' in schema ? { $ref: `document${schema.$ref}` } : schema);
  expect(validate(value), `${what}: ${JSON.stringify(validate.errors?.slice(0, 3))}`).to.equal(true);
}

function assertHeaders(documented: Json, headers: Headers, what: string): void {
  const names = new Map(Object.keys(documented).map((name) => [name.toLowerCase(), name]));
  for (const [name, value] of headers) {
    if (!OURS.test(name)) continue;
    const known = names.get(name);
    if (known === undefined) throw new Error(`${what}: the header ${name} is not documented`);
    const { schema } = DOCUMENT.components.headers[known];
    assertSchema(`/components/headers/${known}/schema`, schema.type === 'integer' ? Number(value) : value, what);
  }
  if (what.endsWith(' 429')) expect(headers.get('retry-after'), what).to.be.a('string');
}

function assertSchema(pointer: string, value: unknown, what: string): void {
  const reference = `document#${encodeURI(pointer)}`;
  const validate = validators.get(reference) ?? ajv.compile({ $ref: reference });
  validators.set(reference, validate);
  expect(validate(value), `${what}: ${JSON.stringify(validate.errors?.slice(0, 3))}`).to.equal(true);
}

function operationOf(method: string, path: string): DocumentedOperation | undefined {
  const [pathname = ''] = path.split('?');
  return OPERATIONS.find(
    (known) => known.method === method && new RegExp(`^${known.fullPath.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  );
}

function pointerOf(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
