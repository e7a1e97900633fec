import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type * as Yaml from 'yaml';
import type { Cli } from './cli.js';
import { CliError, EXIT } from './exit-codes.js';

export const STACK_FILE = 'ranvier.yaml';

/** Returns the path of the new stack file. Throws with exit code 2 if the file exists and `force` is not true. */
export async function freeStackFile({ cwd }: Cli, { force }: { force?: boolean | undefined }): Promise<string> {
  const path = resolve(cwd, STACK_FILE);
  const exists = (await readFile(path).catch(() => null)) !== null;
  if (exists && !force) throw new CliError(EXIT.usage, `${STACK_FILE} exists: --force overwrites it`);
  return path;
}

/** A variable with one of these keys has its own value, and is not a reference. */
const WITH_VALUE = ['value', 'generate', 'secret'];

/** Merges a pulled document into a file's text. Unchanged entries keep their formatting and comments. */
export async function mergeStack(text: string, pulled: string): Promise<string> {
  const { isMap, parse, parseDocument } = (await import('yaml')) as typeof Yaml;
  const document = parseDocument(text);
  if (document.errors.length > 0 || document.contents === null) return pulled;
  const wanted = parse(pulled) as Record<string, unknown>;

  function merge(path: readonly string[], value: Record<string, unknown>): void {
    const map = path.length === 0 ? document.contents : document.getIn(path, true);
    if (!isMap(map)) {
      document.setIn(path, value);
      return;
    }
    const kept = map.items.map(({ key }) => String((key as { value?: unknown } | null)?.value ?? key));
    for (const key of kept) {
      const isSetting = path.length === 0 && ['$schema', 'release'].includes(key);
      if (!(key in value) && !isSetting) map.delete(key);
    }
    for (const [key, next] of Object.entries(value)) {
      const at = [...path, key];
      const before = document.getIn(at);
      const plain = isMap(before) ? (before.toJSON() as unknown) : jsonOf(before);
      if (JSON.stringify(plain) === JSON.stringify(next) || keepsValue(path, plain, next)) continue;
      if (isObject(next) && isMap(before)) merge(at, next);
      else document.setIn(at, next);
    }
  }

  merge([], wanted);
  return document.toString({ lineWidth: 0 });
}

/**
 * Returns true if a secret keeps its value. A pulled document has no values of secrets, so only a new scope replaces
 * the entry.
 */
function keepsValue(path: readonly string[], before: unknown, next: unknown): boolean {
  if (path.at(-1) !== 'variables' || !isObject(next) || next.secret !== true) return false;
  if (typeof before === 'string') return next.scope === undefined;
  if (!isObject(before)) return false;
  return WITH_VALUE.some((form) => form in before) && (before.scope ?? 'all') === (next.scope ?? 'all');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function jsonOf(node: unknown): unknown {
  return isObject(node) && typeof node.toJSON === 'function' ? (node.toJSON as () => unknown)() : node;
}
