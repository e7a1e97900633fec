import { CaddyError } from './admin-api.js';

/** One value that the edge writes into Caddy's configuration. */
export interface ConfigPart {
  /** The keys that lead to the value from the top: `['apps', 'tls']`. */
  path: readonly string[];
  /** The `@id` of the element, if the value is an element of the list at `path`. */
  id?: string;
  /** True for an element that must be last in its list, so that other elements match first. */
  last?: boolean;
  /** Null removes the value at the path. */
  value: unknown;
  /** Returns true if the edge wrote the current value. If absent, any value may be replaced. */
  ours?: (present: unknown) => boolean;
}

type Json = Record<string, unknown>;

/** Returns the configuration with the edge's parts. Throws `CaddyError` if another value has the place of a part. */
export function withParts(config: unknown, parts: readonly ConfigPart[]): Json {
  const result = structuredClone(isObject(config) ? config : {});
  for (const part of parts) insert(result, part);
  return result;
}

function insert(config: Json, part: ConfigPart): void {
  const parents = part.path.slice(0, -1);
  const key = part.path.at(-1) ?? '';
  let parent = config;
  for (const name of parents) {
    if (part.value === null && !isObject(parent[name])) return;
    parent[name] ??= {};
    if (!isObject(parent[name])) throw taken(part, parent[name]);
    parent = parent[name];
  }
  if (part.id !== undefined) parent[key] = withElement(parent[key], part);
  else if (part.value === null) delete parent[key];
  else if (part.ours?.(parent[key] ?? part.value) === false) throw taken(part, parent[key]);
  else parent[key] = part.value;
}

/** Caddy uses the first element that matches, so a new part comes first, or last with `last`. */
function withElement(present: unknown, part: ConfigPart): unknown[] {
  const list: unknown[] = Array.isArray(present) ? present : [];
  const index = list.findIndex((element) => isObject(element) && element['@id'] === part.id);
  if (index >= 0) return list.with(index, part.value);
  return part.last ? [...list, part.value] : [part.value, ...list];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function taken({ path }: ConfigPart, present: unknown): CaddyError {
  const found = JSON.stringify(present);
  return new CaddyError(
    `Caddy's configuration has a ${path.join('.')} that is not ours (${found}): take it out, or leave EDGE_TLS off`,
  );
}
