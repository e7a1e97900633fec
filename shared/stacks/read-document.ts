import leven from 'leven';
import type { ErrorObject, ValidateFunction } from '../core/ajv.js';
import { AppError, type ErrorDetail } from '../core/error-registry.js';
import { nameOfPart, pointerPart } from '../core/json-fields.js';
import { createAjv } from '../core/json-schema.js';
import { lazily } from '../core/lazily.js';
import { toDetail } from '../core/schema-problems.js';
import { HostnameError, parseHostname, parseRedirectTarget } from '../domains/model.js';
import { problemsOfRules } from '../rules/check-rules.js';
import {
  configurationProblems,
  DEFAULT_CONFIGURATION,
  type PartialServiceConfiguration,
} from '../services/configuration.js';
import { isDataKind, isRouted } from '../services/model.js';
import { mountPathProblem, VOLUME_KINDS } from '../volumes/model.js';
import { type ServiceEntry, StackDocument, type VariableEntry } from './document-schema.js';
import { VOLUME_APART } from './model.js';
import type { Content, DomainWish, ServiceWish, StackWish, VariableWish } from './wish.js';
import { readYaml, type YamlSource } from './yaml-source.js';

export const MAX_DOCUMENT_BYTES = 1_000_000;
const MAX_FAULTS = 20;
const MAX_SUGGESTED_LENGTH = 64;

const validator = lazily(() => createAjv().compile(StackDocument));

/** `at` turns problems that are found later into an error with the line of each problem. */
export interface ReadDocument {
  wish: StackWish;
  at: (problems: readonly ErrorDetail[]) => AppError;
}

/**
 * Parses a document. `own` contains the platform's host names, which no service can have. Throws payload_too_large, and
 * invalid_request with the line and column of each fault.
 */
export function readDocument(text: string, own: readonly string[]): ReadDocument {
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) {
    throw new AppError('payload_too_large', `The document has more than ${MAX_DOCUMENT_BYTES} bytes`);
  }
  const source = readYaml(text);
  if (source.faults.length > 0) {
    throw refusal(source.faults.map(({ line, column, message }) => ({ path: '', line, column, message })));
  }
  const at = (problems: readonly ErrorDetail[]) =>
    refusal(problems.map(({ path, message }) => ({ path, message, ...source.positionOf(path) })));
  // An empty file describes an empty stack.
  const value = source.value ?? {};
  const faults = schemaFaults(validator(), value, source);
  if (faults.length > 0) throw refusal(faults);
  const { wish, problems } = wishOf(value as StackDocument, own);
  if (problems.length > 0) throw at(problems);
  return { wish, at };
}

/** Checks a document that the platform generated. Returns its problems or, if there are none, its `wish`. */
export function checkDocument(
  value: StackDocument,
  own: readonly string[],
): { wish: StackWish | null; problems: ErrorDetail[] } {
  const faults = schemaFaults(validator(), value, { positionOf: () => ({ line: 1, column: 1 }) }, Number.MAX_VALUE);
  if (faults.length > 0) return { wish: null, problems: faults };
  const { wish, problems } = wishOf(value, own);
  return { wish: problems.length > 0 ? null : wish, problems };
}

interface PlacedProblem extends ErrorDetail {
  line: number;
  column: number;
}

function refusal(problems: readonly PlacedProblem[]): AppError {
  const details = problems.slice(0, MAX_FAULTS).map(({ path, line, column, message }) => ({
    path: `/document${path}`,
    message: `line ${line}, column ${column}: ${path === '' ? '' : `${lastPart(path)} `}${message}`,
  }));
  return new AppError('invalid_request', `The document is not valid: ${details[0]?.message ?? ''}`, details);
}

function lastPart(path: string): string {
  return nameOfPart(path.slice(path.lastIndexOf('/') + 1));
}

function schemaFaults(
  validate: ValidateFunction,
  value: unknown,
  source: Pick<YamlSource, 'positionOf'>,
  most = MAX_FAULTS,
): PlacedProblem[] {
  if (validate(value)) return [];
  const faults = new Map<string, PlacedProblem>();
  for (const error of validate.errors ?? []) {
    if (isImplied(error)) continue;
    const { path, message } = faultOf(error);
    const isKey = ['additionalProperties', 'propertyNames'].includes(error.keyword) || 'propertyName' in error;
    const problem = { path, message, ...source.positionOf(path, isKey ? 'key' : 'value') };
    if (!faults.has(path)) faults.set(path, problem);
    if (faults.size === most) break;
  }
  return [...faults.values()].sort((one, other) => one.line - other.line || one.column - other.column);
}

function isImplied({ keyword, schemaPath, propertyName, data }: ErrorObject): boolean {
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  return (
    // Another error says that the value must be an object, or that it must have exactly one of these properties.
    (keyword === 'oneOf' && !isObject) ||
    (keyword === 'required' && /\/oneOf\/\d+\/required$/.test(schemaPath)) ||
    (keyword === 'propertyNames' && propertyName === undefined) ||
    // A variable is a string or an object. Errors about the form that was not used are irrelevant.
    keyword === 'anyOf' ||
    (/\/anyOf\/0\/type$/.test(schemaPath) && isObject) ||
    (/\/anyOf\/1\/type$/.test(schemaPath) && !isObject)
  );
}

function faultOf(error: ErrorObject): ErrorDetail {
  const { keyword, params, propertyName, parentSchema, instancePath, data } = error;
  const { path, message } = toDetail(error, '');
  if (propertyName !== undefined) return { path: `${instancePath}/${pointerPart(propertyName)}`, message };
  if (keyword === 'additionalProperties') {
    const known = Object.keys((parentSchema?.properties ?? {}) as object);
    return { path, message: `is not a known key${suggestion(String(params.additionalProperty), known)}` };
  }
  if (keyword === 'enum') return { path, message: `${message}${suggestion(String(data), params.allowedValues)}` };
  if (keyword === 'type' && params.type === 'string' && ['number', 'boolean'].includes(typeof data)) {
    return { path, message: `must be a text: put it in quotes, "${String(data)}"` };
  }
  return { path, message };
}

function suggestion(given: string, known: readonly string[]): string {
  if (given.length > MAX_SUGGESTED_LENGTH) return '';
  const most = Math.max(1, Math.floor(given.length / 3));
  const near = known
    .map((word) => ({ word, distance: leven(given.toLowerCase(), word.toLowerCase(), { maxDistance: most + 1 }) }))
    .filter(({ distance }) => distance <= most)
    .sort((one, other) => one.distance - other.distance)[0];
  return near === undefined ? '' : `; did you mean ${near.word}?`;
}

function wishOf(document: StackDocument, own: readonly string[]): { wish: StackWish; problems: ErrorDetail[] } {
  const problems: ErrorDetail[] = [];
  const sections = (['services', 'databases'] as const).flatMap((section) =>
    entriesOf(document[section]).map(([name, entry]) => ({ section, name, entry })),
  );
  const services = sections.map(({ section, name, entry }) =>
    serviceWish(`/${section}/${pointerPart(name)}`, name, entry, { own, problems }),
  );
  for (const { section, name } of sections) {
    if (section === 'databases' && sections.some((other) => other.section === 'services' && other.name === name)) {
      problems.push({ path: `/databases/${pointerPart(name)}`, message: 'is also the name of a service' });
    }
  }
  const together = document.release === 'together';
  for (const { path, volumes } of together ? services : []) {
    const message = `are not possible with release: together: the service ${VOLUME_APART}`;
    if (volumes.length > 0) problems.push({ path: `${path}/volumes`, message });
  }
  const hosts = new Map<string, string>();
  for (const { name, path, domains } of services) {
    for (const [index, { name: hostname }] of domains.entries()) {
      const holder = hosts.get(hostname);
      if (holder !== undefined)
        problems.push({ path: `${path}/domains/${index}`, message: `belongs to ${holder} already` });
      hosts.set(hostname, name);
    }
  }
  const groups = entriesOf(document.groups).map(([name, entry]) => ({
    name,
    path: `/groups/${pointerPart(name)}`,
    variables: variableWishes(entry.variables),
  }));
  return { wish: { together, services, groups }, problems };
}

function serviceWish(
  path: string,
  name: string,
  entry: ServiceEntry,
  { own, problems }: { own: readonly string[]; problems: ErrorDetail[] },
): ServiceWish {
  const { kind, archived = false, variables, volumes, domains = [], rules = [], groups = [], ...fields } = entry;
  const configuration = fields as PartialServiceConfiguration;
  for (const problem of configurationProblems(kind, { ...DEFAULT_CONFIGURATION, ...configuration })) {
    problems.push({ path: problem.path.replace('/configuration', path), message: problem.message });
  }
  const volumeWishes = entriesOf(volumes).map(([volume, fields]) => ({ name: volume, ...fields }));
  if (volumeWishes.length > 0 && !VOLUME_KINDS.includes(kind)) {
    problems.push({ path: `${path}/volumes`, message: `are not possible for the kind ${kind}` });
  }
  const paths = volumeWishes.map(({ mountPath }) => mountPath);
  for (const { name: volume, mountPath } of volumeWishes) {
    const isTwice = paths.filter((other) => other === mountPath).length > 1;
    const problem = isTwice ? 'is given twice' : mountPathProblem(mountPath, paths);
    if (problem !== null) {
      problems.push({ path: `${path}/volumes/${pointerPart(volume)}/mountPath`, message: `${mountPath} ${problem}` });
    }
  }
  for (const [part, entries] of Object.entries({ domains, rules })) {
    if (entries.length === 0 || isRouted(kind)) continue;
    problems.push({ path: `${path}/${part}`, message: `are not possible for the kind ${kind}, which has no visitors` });
  }
  problems.push(...problemsOfRules(rules).map((problem) => ({ ...problem, path: `${path}${problem.path}` })));
  const domainWishes = domains.map((domain, index): DomainWish => {
    const at = `${path}/domains/${index}`;
    const parsed = (given: string, parse: typeof parseHostname, place: string) => {
      try {
        return parse(given, own);
      } catch (error) {
        if (!(error instanceof HostnameError)) throw error;
        problems.push({ path: place, message: error.message });
        return given;
      }
    };
    if (typeof domain === 'string') return { name: parsed(domain, parseHostname, at), redirectTo: null };
    return {
      name: parsed(domain.name, parseHostname, `${at}/name`),
      redirectTo: parsed(domain.redirectTo, parseRedirectTarget, `${at}/redirectTo`),
    };
  });
  for (const [index, group] of groups.entries()) {
    if (groups.indexOf(group) !== index) problems.push({ path: `${path}/groups/${index}`, message: 'is given twice' });
  }
  return {
    name,
    path,
    kind,
    section: isDataKind(kind) ? 'databases' : 'services',
    archived,
    configuration,
    variables: variableWishes(variables),
    volumes: volumeWishes,
    domains: domainWishes,
    rules,
    groups,
  };
}

function variableWishes(variables: Record<string, VariableEntry> | undefined): VariableWish[] {
  return entriesOf(variables).map(([key, entry]) => {
    if (typeof entry === 'string') return { key, scope: 'all', content: { value: entry } };
    const { scope = 'all', ...content } = entry;
    return { key, scope, content: content as Content };
  });
}

function entriesOf<T>(map: Record<string, T> | undefined): [string, T][] {
  return Object.entries(map ?? {});
}
