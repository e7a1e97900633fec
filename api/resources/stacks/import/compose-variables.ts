import { aliasOf } from '../../../../shared/services/model.js';
import type { VariableEntry } from '../../../../shared/stacks/document-schema.js';
import { type ImportedDatabase, referenceTo, restOf } from './compose-databases.js';
import { interpolate, type Reading, readEnvLines } from './compose-text.js';
import { entryOf, type ImportContext, type Loose, type Lost, looseOf, textOf, textsOf } from './loose.js';

/** Returns true if other services in the environment can use this service name as a host name. */
function isHostName(name: string): boolean {
  return aliasOf({ name, slug: '' }) !== '';
}

/** Matches words that may be host names, such as `db` in `postgres://user@db:5432`. */
const HOSTS = /(?<=^|[/@,=])[\w.-]+(?=:\d|[/,]|$)/g;

/** Returns the variables of a service. A value is null if it is unknown, for example because it comes from the host. */
export function environmentOf(
  name: string,
  { environment, env_file: envFile, build }: Loose,
  { env, files, lost }: Reading & Pick<ImportContext, 'files'>,
): Record<string, string | null> {
  const found: Record<string, string | null> = {};
  for (const each of [envFile].flat()) {
    const { path = each, required } = looseOf(each);
    if (typeof path !== 'string') continue;
    const text = entryOf(files, path) ?? entryOf(files, path.replace(/^\.\//, ''));
    if (text === undefined && required === false) continue;
    if (text === undefined) lost(`services.${name}.env_file`, `${path} was not given: its variables are missing`);
    else Object.assign(found, readEnvLines(text));
  }
  // A stack's document has no build arguments: builds get all variables. So build arguments become variables.
  for (const [key, value] of [...listed(looseOf(build).args), ...listed(environment)]) {
    if (!/^[A-Za-z_]\w*$/.test(key)) {
      lost(`services.${name}.environment.${key}`, 'is no name of a variable here');
      continue;
    }
    if (value === null) {
      found[key] = Object.hasOwn(env, key) ? (env[key] ?? null) : null;
      continue;
    }
    const { value: text, missing } = interpolate(textOf(value), env);
    // A value that contains an unknown variable becomes a secret.
    found[key] = missing.length > 0 ? null : text;
  }
  return found;
}

/** Returns the entries of an object or of a list of KEY=value. Null means that the value comes from the host. */
function listed(variables: unknown): [string, unknown][] {
  if (!Array.isArray(variables)) return Object.entries(looseOf(variables));
  return textsOf(variables).map((line) => {
    const [key = '', ...value] = line.split('=');
    return [key, line.includes('=') ? value.join('=') : null];
  });
}

export function plainTexts(variables: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
  );
}

/** Converts the variables of a service to those of a document. Addresses of other services become references. */
export function variablesOf(
  at: string,
  variables: Record<string, string | null>,
  {
    databases,
    hosts,
    lost,
  }: { databases: readonly ImportedDatabase[]; hosts: ReadonlyMap<string, string>; lost: Lost },
): Record<string, VariableEntry> {
  const providers = new Set(hosts.values());
  return Object.fromEntries(
    Object.entries(variables).map(([key, text]): [string, VariableEntry] => {
      if (text === null) return [key, { secret: true }];
      const value = text.replace(HOSTS, (host) => hosts.get(host) ?? host);
      for (const database of databases) {
        const reference = referenceTo(database, key, value);
        if (reference === undefined) continue;
        const more = restOf(database, value);
        // A lost connection timeout is only a `note`, because queries return the same results without it.
        const kind = /^\?(sslmode=disable&)?connect_timeout=\d+$/.test(more) ? 'note' : undefined;
        if (more !== '') lost(`${at}.environment.${key}`, `becomes the URL of ${database.name}, without ${more}`, kind);
        return [key, reference];
      }
      const own = at.slice('services.'.length);
      if (value !== own && providers.has(value)) return [key, { reference: { service: value, key: 'HOST' } }];
      const named = (value.match(HOSTS) ?? []).filter((name) => name !== own && providers.has(name));
      const url = /^http:\/\/([\w.-]+)(?::\d+)?\/?$/.exec(value)?.[1];
      const [first] = named;
      if (first !== undefined && url === first) return [key, { reference: { service: first, key: 'URL' } }];
      const secret = databases.find(({ name }) => named.includes(name) && value.includes(`@${name}`));
      if (secret !== undefined)
        lost(`${at}.environment.${key}`, `has a password of ${secret.name}, which the platform chooses: use its URL`);
      for (const name of named.filter((each) => !isHostName(each)))
        lost(
          `${at}.environment.${key}`,
          `names the host ${name}, and neighbours cannot have this name: use another one`,
        );
      // Services in an environment can use each other's names as host names, so the address stays valid.
      return [key, value];
    }),
  );
}
