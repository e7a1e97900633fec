import { DATABASE_VERSIONS } from '../../../../shared/services/configuration.js';
import type { StackDocument, VariableEntry } from '../../../../shared/stacks/document-schema.js';
import { labelOf } from '../../../../shared/stacks/label.js';
import {
  entryOf,
  given,
  type ImportContext,
  type Loose,
  type Lost,
  looseOf,
  loseKeys,
  namesIn,
  textOf,
} from './loose.js';
import { nameOf, processDocument, repositoryOf } from './service-parts.js';

const READ = namesIn(`
  name description keywords website repository logo success_url env formation addons stack image $schema author
  procfile
`);
const REASONS: Readonly<Record<string, string>> = {
  buildpacks: 'languages are recognised by the files of the repository',
  scripts: 'scripts after the first deployment are run by hand',
  environments: 'settings of review apps and tests are left out',
};
/** Add-ons that become databases → their kind, and the variable that the add-on sets. */
const ADDONS: Readonly<Record<string, { kind: 'postgres' | 'redis'; key: string }>> = {
  'heroku-postgresql': { kind: 'postgres', key: 'DATABASE_URL' },
  'heroku-redis': { kind: 'redis', key: 'REDIS_URL' },
  'heroku-key-value-store': { kind: 'redis', key: 'REDIS_URL' },
  redistogo: { kind: 'redis', key: 'REDISTOGO_URL' },
  rediscloud: { kind: 'redis', key: 'REDISCLOUD_URL' },
};

/** Splits app.json from the Procfile that follows it. No line of JSON begins with a word and a colon. */
export function splitProcfile(text: string): { json: string; procfile: string } {
  const start = text.search(/^[A-Za-z][\w-]*:/m);
  return start < 0 ? { json: text, procfile: '' } : { json: text.slice(0, start), procfile: text.slice(start) };
}

/** Converts an app.json to a document. `files` contains the text of the Procfile. */
export function importHeroku(value: unknown, { repository, folder, files }: ImportContext, lost: Lost): StackDocument {
  const file = looseOf(value);
  loseKeys('', file, READ, REASONS, lost);
  const context = { repository: repository === '' ? textOf(file.repository) : repository, folder };
  const name = labelOf(textOf(file.name)) || nameOf(context);
  const commands = commandsOf(files.Procfile ?? '');
  const { release, ...processes } = commands;
  const names = Object.keys(processes).length === 0 ? ['web'] : Object.keys(processes);
  const source = {
    ...repositoryOf('repository', context, lost),
    ...(textOf(file.stack) === 'container' ? { buildMethod: 'dockerfile' } : {}),
  };
  const { databases, references } = addonsOf(file.addons, lost);
  const { PORT: _port, ...variables } = variablesOf(looseOf(file.env), lost);
  return processDocument(
    name,
    names.map((process, index) => ({
      name: process === 'web' || names.length === 1 ? name : `${name}-${process}`,
      entry: {
        kind: process === 'web' ? 'web' : 'worker',
        ...source,
        ...given({ startCommand: processes[process], preDeployCommand: index === 0 ? release : '' }),
        ...replicasOf(process, looseOf(file.formation), lost),
      },
    })),
    { ...variables, ...references },
    databases,
  );
}

function commandsOf(procfile: string): Record<string, string> {
  const lines = procfile
    .split('\n')
    .map((line) => /^([A-Za-z][\w-]{0,62}):\s*(\S.*?)\s*$/.exec(line.slice(0, 5000)) ?? []);
  return Object.fromEntries(lines.flatMap(([, name, command]) => (name && command ? [[name, command]] : [])));
}

function variablesOf(env: Loose, lost: Lost): Record<string, VariableEntry> {
  const variables: Record<string, VariableEntry> = {};
  const without: string[] = [];
  for (const [key, entry] of Object.entries(env)) {
    const { value, generator, required } = typeof entry === 'object' ? looseOf(entry) : { value: entry };
    const text = textOf(value);
    if (key === 'BUILDPACK_URL') lost(`env.${key}`, REASONS.buildpacks ?? '');
    else if (generator === 'secret') variables[key] = { generate: 64 };
    else if (text !== '') variables[key] = text;
    else if (required === false) without.push(key);
    else variables[key] = { secret: true };
  }
  if (without.length > 0)
    lost('env', `variables that are optional and have no value are left out: ${without.join(', ')}`);
  return variables;
}

function addonsOf(addons: unknown, lost: Lost) {
  const databases: Record<string, Record<string, unknown>> = {};
  const references: Record<string, VariableEntry> = {};
  for (const addon of Array.isArray(addons) ? addons : []) {
    const { plan = addon, as, options } = looseOf(addon);
    const service = textOf(plan).split(':')[0] ?? '';
    const known = entryOf(ADDONS, service);
    if (known === undefined) {
      lost('addons', `${service || 'an add-on'} has no counterpart: give its variables by hand`);
      continue;
    }
    const { kind, key } = known;
    const wanted = textOf(looseOf(options).version);
    const version = DATABASE_VERSIONS.find((each) => each === wanted);
    if (wanted !== '' && version === undefined && kind === 'postgres') {
      lost('addons', `version ${wanted} of PostgreSQL is not offered`);
    }
    const label = labelOf(textOf(as)) || kind;
    databases[label] = { kind, ...given({ databaseVersion: kind === 'postgres' ? version : undefined }) };
    references[textOf(as) === '' ? key : `${textOf(as)}_URL`] = { reference: { service: label, key: 'URL' } };
  }
  return { databases, references };
}

function replicasOf(process: string, formation: Loose, lost: Lost): { replicas?: unknown } {
  const { quantity, size } = looseOf(formation[process]);
  if (size !== undefined) lost(`formation.${process}.size`, `${textOf(size)} is no plan here: choose one`);
  if (quantity === 0) lost(`formation.${process}.quantity`, 'a service has at least one replica; suspend it');
  return quantity === 0 ? {} : given({ replicas: quantity === 1 ? undefined : quantity });
}
