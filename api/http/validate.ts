import { validate as isUuid } from 'uuid';
import type { Ajv } from '../../shared/core/ajv.js';
import { AppError, type ErrorDetail } from '../../shared/core/error-registry.js';
import { lazily } from '../../shared/core/lazily.js';
import { problemsOf } from '../../shared/core/schema-problems.js';
import { type Endpoint, NAME_PARAMETERS } from './endpoint.js';
import type { ApiStep } from './request-state.js';
import { integerFields } from './schema.js';

/** Validates the request. An invalid id or name in the path gives 404; other faults give 400 with details. */
export function validate(ajv: () => Ajv, route: Endpoint): ApiStep {
  // Schemas are compiled on first use. All together take 0.3 s and 12 MiB, and a process may need only a few.
  const compiled = lazily(() => ({
    query: ajv().compile(route.query),
    body: route.body ? ajv().compile(route.body) : null,
  }));
  const integers = integerFields(route.query);
  return (ctx) => {
    const params: Record<string, string> = {};
    for (const [name, value] of Object.entries<string>(ctx.params)) {
      const pattern = NAME_PARAMETERS[name];
      if (pattern === undefined ? !isUuid(value) : !new RegExp(pattern).test(value)) throw new AppError('not_found');
      params[name] = value.toLowerCase();
    }
    const validators = compiled();
    const { values: query, problems } = readQuery(ctx.querystring === '' ? {} : ctx.query, integers);
    problems.push(...problemsOf(validators.query, query, 'query.'));
    // A request without a body is validated as `{}`. A body of `null` is refused.
    const body = ctx.state.json === undefined ? {} : ctx.state.json;
    if (validators.body) problems.push(...problemsOf(validators.body, body, ''));
    if (problems.length > 0) throw new AppError('invalid_request', undefined, problems);
    ctx.state.input = { params, query, body: body as Record<string, unknown> };
  };
}

const INTEGER = /^-?\d{1,16}$/;

function readQuery(
  query: NodeJS.Dict<string | string[]>,
  integers: readonly string[],
): { values: Record<string, unknown>; problems: ErrorDetail[] } {
  // An object without a prototype, so that a parameter named __proto__ is an ordinary key.
  const values: Record<string, unknown> = Object.create(null);
  const problems: ErrorDetail[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== 'string') problems.push({ path: `query.${name}`, message: 'must be given once' });
    else if (value.includes('\u0000')) problems.push({ path: `query.${name}`, message: 'must not contain NUL' });
    else values[name] = integers.includes(name) && INTEGER.test(value) ? Number(value) : value;
  }
  return { values, problems };
}
