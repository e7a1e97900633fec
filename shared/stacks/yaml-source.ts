import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { nameOfPart } from '../core/json-fields.js';
import { lazily } from '../core/lazily.js';

/** Loaded when the first document is read, because loading takes tens of milliseconds. */
const yaml = lazily(() => createRequire(import.meta.url)('yaml') as typeof Yaml);

/** Maximum number of values in a document, after aliases are resolved. */
const MAX_NODES = 200_000;
const MAX_DEPTH = 50;
/** Maximum number of line ends, commas and brackets in a text. The limit keeps the parsing time to about 0.5 s. */
const MAX_MARKS = 50_000;

/** Lines and columns start at 1. */
export interface YamlFault {
  line: number;
  column: number;
  message: string;
}

export interface YamlSource {
  /** The value, with aliases and merges resolved; undefined if there are faults. */
  value: unknown;
  faults: YamlFault[];
  /**
   * Returns the position of the value at a JSON pointer, or of its key. If the pointer leads nowhere, returns the
   * position of the nearest ancestor that exists.
   */
  positionOf(pointer: string, at?: 'key' | 'value'): { line: number; column: number };
}

/**
 * Parses YAML or JSON, with anchors and merge keys. Rejects a text whose aliases would resolve to more than 200,000
 * values, without resolving them.
 */
export function readYaml(text: string): YamlSource {
  if (marksOf(text) > MAX_MARKS) {
    const message = `has more than ${MAX_MARKS} lines, commas and brackets`;
    return { value: undefined, faults: [{ line: 1, column: 1, message }], positionOf: () => ({ line: 1, column: 1 }) };
  }
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  // The package would compare each key with all others of its map. `documentFault` finds duplicates in linear time.
  const options = { uniqueKeys: false, merge: true, logLevel: 'silent', prettyErrors: false } as const;
  const document = parseDocument(text, { lineCounter: lines, ...options });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const faults = document.errors.map(({ pos, message }) => ({ ...place(pos[0]), message: lowerFirst(message) }));
  if (faults.length === 0) {
    const found = documentFault(document);
    if (found !== null) faults.push({ ...place(found.offset), message: found.message });
  }
  return {
    value: faults.length > 0 ? undefined : (document.toJS({ maxAliasCount: -1 }) as unknown),
    faults,
    positionOf: (pointer, at = 'value') => place(offsetOf(document, pointer, at)),
  };
}

function marksOf(text: string): number {
  let count = 0;
  for (const mark of ['\n', ',', '[', '{']) count += text.split(mark).length - 1;
  return count;
}

function documentFault(document: Yaml.Document.Parsed): { offset: number; message: string } | null {
  const { isAlias, isCollection, isMap, isPair, isNode, isScalar } = yaml();
  const sizes = new Map<object, number>();
  const open = new Set<object>();
  let fault: { offset: number; message: string } | null = null;

  function refuse(node: unknown, message: string): number {
    const offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    fault ??= { offset, message };
    return 0;
  }

  function sizeOf(node: unknown, depth: number): number {
    if (fault !== null || typeof node !== 'object' || node === null) return 1;
    if (depth > MAX_DEPTH) return refuse(node, `is nested more than ${MAX_DEPTH} levels deep`);
    if (isPair(node)) return sizeOf(node.key, depth) + sizeOf(node.value, depth);
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (target === undefined) return refuse(node, `the anchor &${node.source} does not exist before this line`);
      if (open.has(target)) return refuse(node, `the alias *${node.source} stands inside of its own anchor`);
      return sizeOf(target, depth + 1);
    }
    if (!isCollection(node)) return 1;
    const known = sizes.get(node);
    if (known !== undefined) return known;
    open.add(node);
    let size = 1;
    const keys = new Set<unknown>();
    for (const { key } of isMap(node) ? node.items : []) {
      const value = isScalar(key) ? key.value : key;
      if (typeof value !== 'symbol' && keys.has(value)) return refuse(key, `the key ${String(value)} is given twice`);
      keys.add(value);
    }
    for (const item of node.items) {
      size += sizeOf(item, depth + 1);
      if (size > MAX_NODES) return refuse(node, `has more than ${MAX_NODES} values when its aliases are written out`);
    }
    open.delete(node);
    sizes.set(node, size);
    return size;
  }

  sizeOf(document.contents, 0);
  return fault;
}

function offsetOf(document: Yaml.Document.Parsed, pointer: string, at: 'key' | 'value'): number {
  const { isAlias, isMap, isNode, isScalar, isSeq } = yaml();
  const resolved = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  let offset = isNode(document.contents) ? (document.contents.range?.[0] ?? 0) : 0;

  function pairOf(map: unknown, key: string): Yaml.Pair | undefined {
    if (!isMap(map)) return undefined;
    const keyOf = ({ key: node }: Yaml.Pair) => {
      const value = isScalar(node) ? node.value : node;
      // The yaml package represents the merge key `<<` as a symbol.
      return typeof value === 'symbol' ? value.description : String(value);
    };
    const own = map.items.find((pair) => keyOf(pair) === key);
    if (own !== undefined) return own;
    const merged = map.items.filter((pair) => keyOf(pair) === '<<').map(({ value }) => resolved(value));
    const sources = merged.flatMap((source) => (isSeq(source) ? source.items.map(resolved) : [source]));
    return sources.map((source) => pairOf(source, key)).find((pair) => pair !== undefined);
  }

  let node: unknown = document.contents;
  const parts = pointer.split('/').slice(1).map(nameOfPart);
  for (const [index, part] of parts.entries()) {
    const inside = resolved(node);
    let next: unknown;
    let place: unknown;
    if (isSeq(inside)) {
      next = inside.items[Number(part)];
      place = next;
    } else {
      const pair = pairOf(inside, part);
      next = pair?.value;
      const isLast = index === parts.length - 1;
      place = isLast && at === 'value' && isNode(next) ? next : pair?.key;
    }
    if (!isNode(place)) return offset;
    offset = place.range?.[0] ?? offset;
    node = next;
  }
  return offset;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
