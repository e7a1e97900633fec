import { type Captures, encodedSegment } from './path-pattern.js';

/** Where a redirect or a rewrite leads: an address, or a path with an optional query and fragment. */
export interface TargetTemplate {
  /** `https://shop.example.com`; '' for the requested host. */
  origin: string;
  /** Texts and names of captures, in turn; begins and ends with a text. */
  path: readonly string[];
  query: readonly string[] | null;
  /** With its `#`; or ''. */
  fragment: string;
}

/** Compiles a target. Only the given names are replaced; the longest one that fits counts. */
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

/** Returns the text with every character encoded that a header must not contain. */
function printable(text: string): string {
  return text.replace(/[^\x21-\x7e]+/gu, encodeURIComponent);
}

/** Where a request is led: the path with its query and fragment, below an origin or on the requested host. */
export interface Target {
  origin: string;
  path: string;
  /** Without the `?`; '' if there is none. */
  query: string;
  fragment: string;
}

/**
 * Fills in a target. The request's own query is passed on, without the parameters that the rule has used, unless the
 * target has a query.
 */
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

/** A capture of the path has encoded all that a query must not contain, but for these. */
function inQuery(value: string): string {
  return value.replace(/[&+#]/g, encodeURIComponent);
}

/** Returns a parameter's name or value as a form has encoded it. */
function decodedParameter(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

/** Returns the captures of the parameters that a rule asks for; null if one is missing or differs. */
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

/** Returns the names that a rule's parameters capture. */
export function namesInQuery(wanted: Readonly<Record<string, string>>): string[] {
  return Object.values(wanted).flatMap((value) => (value.startsWith(':') && value.length > 1 ? [value.slice(1)] : []));
}
