import { AppError, invalidRequest } from '../../shared/core/error-registry.js';

const MAX_DEPTH = 32;
/**
 * Maximum number of values in a body, because their validation takes time. A canvas with 2000 positions has 6000
 * values.
 */
const MAX_VALUES = 10_000;
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Parses a request body. Throws `invalid_json` or `invalid_request`. Also refuses what would not be stored as sent:
 * duplicate keys, `__proto__`, and text that PostgreSQL cannot store (NUL, lone surrogates).
 */
export function parseJson(bytes: Buffer): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new AppError('invalid_json');
  }
  assertStructure(text);
  assertStrings(value, '', { values: 0 });
  return value;
}

function assertStructure(text: string): void {
  const open: (Set<string> | null)[] = [];
  let latest = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') {
      if (open.push(token === '{' ? new Set() : null) > MAX_DEPTH)
        throw invalidRequest('', `is nested deeper than ${MAX_DEPTH}`);
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token === ':') {
      const key: string = JSON.parse(latest);
      const keys = open.at(-1);
      if (keys?.has(key)) throw invalidRequest('', `has the key ${JSON.stringify(key)} twice in one object`);
      keys?.add(key);
    } else {
      latest = token;
    }
  }
}

function assertStrings(value: unknown, path: string, counted: { values: number }): void {
  counted.values += 1;
  if (counted.values > MAX_VALUES) throw invalidRequest('', `has more than ${MAX_VALUES} values`);
  if (typeof value === 'string') assertText(value, path);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    assertText(key, path);
    if (key === '__proto__') throw invalidRequest(path, 'must not have the key "__proto__"');
    assertStrings(child, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, counted);
  }
}

function assertText(text: string, path: string): void {
  if (text.includes('\u0000')) throw invalidRequest(path, 'must not contain the character NUL');
  if (LONE_SURROGATE.test(text)) throw invalidRequest(path, 'must be well-formed Unicode');
}
