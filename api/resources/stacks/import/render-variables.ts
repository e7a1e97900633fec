import type { VariableEntry } from '../../../../shared/stacks/document-schema.js';
import { entryOf, type Loose, type Lost, looseListOf, looseOf, optional, textOf } from './loose.js';

/** Property of a database or service on Render → the corresponding variable on this platform. */
const PROPERTIES: Readonly<Record<string, string>> = {
  ...{ connectionString: 'URL', connectionURI: 'URL', host: 'HOST', port: 'PORT', user: 'USER' },
  ...{ password: 'PASSWORD', database: 'DATABASE', hostport: 'URL' },
};

/** Returns the variables and group names of a service. The variable PORT is returned as the service's port instead. */
export function variablesOf(at: string, { envVars }: Loose, lost: Lost) {
  const variables: Record<string, VariableEntry> = {};
  const groups: string[] = [];
  let port = {};
  for (const entry of looseListOf(envVars)) {
    const key = textOf(entry.key);
    const place = `${at}.envVars.${key}`;
    const value = textOf(entry.value);
    if (textOf(entry.fromGroup) !== '') groups.push(textOf(entry.fromGroup));
    else if (key === 'PORT' && /^\d{1,5}$/.test(value)) port = { port: Number(value) };
    else if (key !== '') variables[key] = variableOf(place, entry, lost);
  }
  return { ...optional('port', port), ...optional('variables', variables), ...optional('groups', groups) } as {
    port?: object;
    variables?: Record<string, VariableEntry>;
    groups?: string[];
  };
}

export function groupOf(at: string, group: Loose, lost: Lost): Record<string, unknown> {
  return optional('variables', variablesOf(at, group, lost).variables ?? {});
}

function variableOf(place: string, entry: Loose, lost: Lost): VariableEntry {
  if (entry.generateValue === true) return { generate: 44 };
  const source = looseOf(entry.fromDatabase ?? entry.fromService);
  const service = textOf(source.name);
  if (service !== '') {
    const property = textOf(source.property);
    const key = textOf(source.envVarKey) || entryOf(PROPERTIES, property) || 'URL';
    if (property === 'hostport') lost(place, 'becomes the address with http://: check it');
    return { reference: { service, key } };
  }
  const value = textOf(entry.value);
  return value === '' ? { secret: true } : value;
}
