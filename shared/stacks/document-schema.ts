import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { described, Strict } from '../core/json-schema.js';
import { CONTROL } from '../core/plain-text.js';
import { Hostname } from '../domains/model.js';
import { DocumentRule, MAX_RULES } from '../rules/model.js';
import { oneOf, ServiceConfigurationSchema } from '../services/configuration.js';
import { type DataKind, SERVICE_KINDS, type ServiceKind } from '../services/model.js';
import { VARIABLE_SCOPES, VariableKey, VariableReference, VariableValue } from '../variables/model.js';
import { VOLUME_FIELDS } from '../volumes/model.js';

const DATA_KINDS: readonly DataKind[] = ['postgres', 'redis'];
const APPLICATION_KINDS = SERVICE_KINDS.filter(
  (kind): kind is Exclude<ServiceKind, DataKind> => !DATA_KINDS.some((data) => data === kind),
);

/** Maximum number of services, of databases and of groups in a document, and of groups per service. */
const MAX_ENTRIES = 500;
const MAX_GENERATED = 256;

/** Names are stored without leading and trailing spaces. */
const EntryName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: `^[^\\s${CONTROL}](?:[^${CONTROL}]*[^\\s${CONTROL}])?$`,
  not: { const: '__proto__' },
  description: 'one line without control characters, and without spaces at its ends',
});

function byName<T extends TSchema>(names: TSchema, entry: T, maxProperties: number, description: string) {
  return Type.Unsafe<Record<string, Static<T>>>({
    type: 'object',
    propertyNames: names,
    additionalProperties: entry,
    maxProperties,
    description,
  });
}

const required = (name: string) => ({ required: [name], properties: { [name]: {} } });

const Reference = Type.Object(
  {
    service: Type.Optional(described(EntryName, 'a service or database of the document or of the environment')),
    serviceId: Type.Optional(VariableReference.properties.serviceId),
    key: VariableReference.properties.key,
  },
  { additionalProperties: false, oneOf: [required('service'), required('serviceId')] },
);

const Content = Type.Object(
  {
    value: Type.Optional(VariableValue),
    reference: Type.Optional(Reference),
    generate: Type.Optional(
      Type.Integer({
        minimum: 8,
        maximum: MAX_GENERATED,
        description: 'Random characters that the variable is made with, once',
      }),
    ),
    secret: Type.Optional(
      Type.Literal(true, { description: 'The value is given with the first apply, and never stands in a document' }),
    ),
    scope: Type.Optional(oneOf('VariableScope', VARIABLE_SCOPES, 'all')),
  },
  {
    additionalProperties: false,
    oneOf: ['value', 'reference', 'generate', 'secret'].map(required),
  },
);

export type VariableEntry = string | Static<typeof Content>;

const VariableEntry = Type.Unsafe<VariableEntry>({ anyOf: [VariableValue, Content] });

const variables = Type.Optional(
  byName(VariableKey, VariableEntry, 1000, 'A text, or a reference, a generated text or a secret'),
);

const Redirect = Strict({
  name: Hostname,
  redirectTo: described(Hostname, 'one line: a host name, to which all requests are redirected'),
});

export type DomainEntry = string | Static<typeof Redirect>;

const DomainEntry = Type.Unsafe<DomainEntry>({ anyOf: [Hostname, Redirect] });

const { name: volumeName, ...volumeFields } = VOLUME_FIELDS;

const PARTS = {
  archived: Type.Optional(Type.Boolean({ default: false, description: 'Deployments are prevented' })),
  variables,
  volumes: Type.Optional(byName(volumeName, Strict(volumeFields), 5, 'Folders that outlive releases')),
  domains: Type.Optional(Type.Array(DomainEntry, { maxItems: 100, description: 'Host names of the service' })),
  rules: Type.Optional(
    Type.Array(DocumentRule, {
      maxItems: MAX_RULES,
      description: 'Rules of the edge, in order. The passwords of their users are set apart from the document',
    }),
  ),
  groups: Type.Optional(
    Type.Array(EntryName, {
      maxItems: MAX_ENTRIES,
      description:
        'Groups whose variables the service gets, of the document or of the workspace; the last one takes precedence',
    }),
  ),
};

const FIELDS = Object.fromEntries(
  Object.entries(ServiceConfigurationSchema.properties).map(([name, field]) => [name, Type.Optional(field)]),
);

function serviceOf(kinds: readonly ServiceKind[], name: string): TObject {
  return Strict({ kind: oneOf(name, kinds), ...FIELDS, ...PARTS });
}

export type ServiceEntry = Static<TObject<typeof PARTS>> & { kind: ServiceKind } & Record<string, unknown>;

export const STACK_RELEASES = ['separate', 'together'] as const;

/** The schema of `ranvier.yaml`, composed of the API's own schemas. */
export const StackDocument = Type.Object(
  {
    $schema: Type.Optional(Type.String({ maxLength: 2048, description: 'The address of this schema, for editors' })),
    release: Type.Optional(
      described(
        oneOf('StackRelease', STACK_RELEASES, 'separate'),
        'separate: each service goes live when its own deployment is ready. together: all go live at once, or none does',
      ),
    ),
    services: Type.Optional(
      byName(EntryName, serviceOf(APPLICATION_KINDS, 'ApplicationKind'), MAX_ENTRIES, 'Services by their names'),
    ),
    databases: Type.Optional(
      byName(EntryName, serviceOf(DATA_KINDS, 'DataKind'), MAX_ENTRIES, 'Databases by their names'),
    ),
    groups: Type.Optional(
      byName(EntryName, Strict({ variables }), MAX_ENTRIES, 'Variables that several services share'),
    ),
  },
  // Keys that begin with x- are ignored, so that YAML anchors can be defined there.
  { additionalProperties: false, patternProperties: { '^x-': {} } },
);

export const STACK_SCHEMA_PATH = '/api/schemas/stack.json';

/** Returns the schema for editors. Omits `$id`, because the names of the API's components are not valid ids. */
export function stackSchema(): object {
  const plain = JSON.parse(
    JSON.stringify(StackDocument, (name, value) => (name === '$id' ? undefined : value)),
  ) as object;
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: 'ranvier.yaml', ...plain };
}

export interface StackDocument {
  release?: (typeof STACK_RELEASES)[number];
  services?: Record<string, ServiceEntry>;
  databases?: Record<string, ServiceEntry>;
  groups?: Record<string, { variables?: Record<string, VariableEntry> }>;
}
