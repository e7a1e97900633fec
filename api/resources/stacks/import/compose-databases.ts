import { parseImage } from '../../../../shared/images/image-reference.js';
import { DATABASE_VERSIONS } from '../../../../shared/services/configuration.js';
import type { VariableEntry } from '../../../../shared/stacks/document-schema.js';

export interface ImportedDatabase {
  name: string;
  kind: 'postgres' | 'redis';
  entry: { kind: 'postgres' | 'redis' } & Record<string, unknown>;
  user: string;
  password: string;
  database: string;
}

const POSTGRES = 'docker.io/library/postgres';
const REDIS: readonly string[] = ['docker.io/library/redis', 'docker.io/valkey/valkey'];

/** Returns the database that replaces a service with this image and these variables; null if none can. */
export function databaseOf(
  name: string,
  image: string,
  env: Readonly<Record<string, string>>,
): ImportedDatabase | null {
  const parsed = parseImage(image);
  if (parsed === null) return null;
  if (REDIS.includes(parsed.name)) {
    return { name, kind: 'redis', entry: { kind: 'redis' }, user: 'default', password: '', database: '' };
  }
  if (parsed.name !== POSTGRES) return null;
  const [major = ''] = parsed.tag.split(/[.-]/);
  const known = DATABASE_VERSIONS.some((version) => version === major);
  if (!known && parsed.tag !== 'latest' && parsed.tag !== 'alpine') return null;
  const { POSTGRES_USER: user = 'postgres', POSTGRES_PASSWORD: password = '' } = env;
  const { POSTGRES_DB: database = user } = env;
  const named = (field: string, text: string) => (isName(text) ? { [field]: text } : {});
  const entry = {
    kind: 'postgres' as const,
    databaseVersion: known ? major : DATABASE_VERSIONS.at(-1),
    ...named('databaseName', database),
    ...named('databaseUser', user),
  };
  return { name, kind: 'postgres', entry, user, password, database };
}

/** Returns true if a tenant's database or user may have this name. PostgreSQL and the platform reserve some names. */
function isName(text: string): boolean {
  return /^[A-Za-z_]\w{0,62}$/.test(text) && !/^(postgres|template[01]|pg_.*|ranvier.*)$/i.test(text);
}

/**
 * Returns the reference that replaces a variable's value; undefined if the variable keeps its value. References replace
 * values that identify the database, such as its URL, host or password.
 */
export function referenceTo(
  { name, kind, user, password, database }: ImportedDatabase,
  key: string,
  value: string,
): VariableEntry | undefined {
  const to = (target: string): VariableEntry => ({ reference: { service: name, key: target } });
  const schemes = kind === 'postgres' ? /^(postgres(ql)?|pgsql)(\+\w+)?:\/\// : /^(redis|valkey)s?:\/\//;
  if (schemes.test(value) && hostIn(value) === name) return to('URL');
  if (value === name) return to('HOST');
  if (value === '') return undefined;
  if (value === (kind === 'postgres' ? '5432' : '6379') && /PORT/.test(key) && isAbout(kind, key)) return to('PORT');
  if (kind === 'redis') return undefined;
  if (value === password && /PASS|PWD/.test(key)) return to('PASSWORD');
  if (value === user && /USER/.test(key) && isAbout(kind, key)) return to('USER');
  if (value === database && /NAME|DATABASE|DB$/.test(key) && isAbout(kind, key)) return to('DATABASE');
  return undefined;
}

/** Returns which parts of a database URL a reference lacks: driver, database or options; '' if none. */
export function restOf({ kind, database }: ImportedDatabase, value: string): string {
  const [, driver = '', path = '', query = ''] = /^\w+(\+\w+)?:\/\/[^/?]*(?:\/([^?]*))?(\?.*)?$/.exec(value) ?? [];
  const isUsual = kind === 'postgres' ? ['', database].includes(path) : ['', '0'].includes(path);
  const options = /^\?(sslmode=(disable|prefer)|schema=public)?$/.test(query) ? '' : query;
  return [driver, isUsual ? '' : `/${path}`, options].filter((part) => part !== '').join(' and ');
}

function isAbout(kind: ImportedDatabase['kind'], key: string): boolean {
  return kind === 'redis' ? /REDIS|CACHE|VALKEY|QUEUE/.test(key) : /DB|DATABASE|PG|POSTGRES|SQL/.test(key);
}

function hostIn(url: string): string {
  return /^[\w+.-]+:\/\/(?:[^@/]*@)?([^:/?]+)/.exec(url)?.[1] ?? '';
}
