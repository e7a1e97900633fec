import { type Captures, encodedSegment } from './path-pattern.js';

/** The target of a redirect or a rewrite: an address, or a path with an optional query and fragment. */
export interface TargetTemplate {
  /** The origin of the target, such as `https://shop.example.com`; '' for the host of the request. */
  origin: string;
  /** The path, split at its placeholders: texts and names of placeholders alternate, beginning with a text. */
  path: readonly string[];
  query: readonly string[] | null;
  /** Includes the `#`; '' if there is no fragment. */
  fragment: string;
}

/** Compiles the target of a rule. A `:` begins a placeholder only before one of `names`; the longest match counts. */
export function compileTarget(to: string, names: readonly string[]): TargetTemplate {
  const [, origin = '', rest = ''] = /^(https?:\/\/[^/?#]*)?(.*)$/s.exec(to) ?? [];
  const [target = '', ...fragments] = rest.split('#');
  const [path = '', ...queries] = target.split('?');
  const longestFirst = [...names].sort((a, b) => b.length - a.length);
  const query = queries.join('?');
  return {
    origin,
    path: withNames(path === '' ? '/' : path, longestFirst),
    query: queries.length === 0 ? null : withNames(query, longestFirst),
    fragment: fragments.length === 0 ? '' : `#${printable(fragments.join('#'))}`,
  };
}

function withNames(text: string, names: readonly string[]): string[] {
  const parts = [''];
  for (let at = 0; at < text.length; ) {
    const name = text[at] === ':' ? names.find((one) => text.startsWith(one, at + 1)) : undefined;
    if (name === undefined) parts.push((parts.pop() ?? '') + text[at++]);
    else {
      parts.push(name, '');
      at += name.length + 1;
    }
  }
  return parts.map((part, at) => (at % 2 === 0 ? printable(part) : part));
}

/** Percent-encodes every character that a header must not contain. */
function printable(text: string): string {
  return text.replace(/[^\x21-\x7e]+/gu, encodeURIComponent);
}

/** The target of one request. `origin` is '' for the requested host. */
export interface Target {
  origin: string;
  path: string;
  /** Without the `?`; '' if there is none. */
  query: string;
  fragment: string;
}

/** Returns the target of a request. A template without a query passes on the request's parameters, except `used`. */
export function fillTarget(
  template: TargetTemplate,
  captures: Captures,
  query: string,
  used: readonly string[],
): Target {
  const filled = template.path.map((part, at) => (at % 2 === 0 ? part : (captures[part] ?? ''))).join('');
  return {
    origin: template.origin,
    // A path that begins with two slashes would name another host.
    path:
      template.origin === '' && template.path[0]?.startsWith('//') !== true ? filled.replace(/^\/{2,}/, '/') : filled,
    query:
      template.query === null
        ? passedOn(query, used)
        : template.query.map((part, at) => (at % 2 === 0 ? part : inQuery(captures[part] ?? ''))).join(''),
    fragment: template.fragment,
  };
}

function passedOn(query: string, used: readonly string[]): string {
  if (query === '' || used.length === 0) return query;
  return query
    .split('&')
    .filter((pair) => !used.includes(decodedParameter(pair.split('=', 1)[0] ?? '')))
    .join('&');
}

/** Percent-encodes `&`, `+` and `#`, which have a meaning in a query. Captured texts are otherwise encoded already. */
function inQuery(value: string): string {
  return value.replace(/[&+#]/g, encodeURIComponent);
}

/** Forms encode a space as `+`. */
function decodedParameter(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

/** Returns the values of placeholders in a query; null if a required parameter is missing or different. */
export function matchQuery(wanted: Readonly<Record<string, string>>, query: string): Captures | null {
  const given = new Map<string, string>();
  for (const pair of query.split('&')) {
    const [name = '', ...value] = pair.split('=');
    const decoded = decodedParameter(name);
    if (!given.has(decoded)) given.set(decoded, decodedParameter(value.join('=')));
  }
  const captures: Record<string, string> = {};
  for (const [name, value] of Object.entries(wanted)) {
    const found = given.get(name);
    if (found === undefined) return null;
    if (value.startsWith(':') && value.length > 1) captures[value.slice(1)] = encodedSegment(found);
    else if (value !== found) return null;
  }
  return captures;
}

/** Returns the placeholder names in the query parameters that a rule requires: `id` for `:id`. */
export function namesInQuery(wanted: Readonly<Record<string, string>>): string[] {
  return Object.values(wanted).flatMap((value) => (value.startsWith(':') && value.length > 1 ? [value.slice(1)] : []));
}
