import { type Static, Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { STACK_NAME_PATTERN } from '../../../shared/core/string-formats.js';
import { STACK_RELEASES } from '../../../shared/stacks/document-schema.js';
import { APPLY_STATUSES, STEP_STATUSES } from '../../../shared/stacks/model.js';
import { CHANGE_ACTIONS, CHANGE_KINDS } from '../../../shared/stacks/plan-model.js';
import {
  ConfirmBody,
  described,
  Nullable,
  oneOf,
  PageSchema,
  Strict,
  TextMap,
  Timestamp,
  Uuid,
} from '../../http/schema.js';
import { IMPORT_FORMATS } from './import/import-file.js';
import { TemplateName } from './templates/schema.js';

/** Maximum size of a request with a document, in bytes. JSON encodes some characters with up to six bytes. */
export const STACK_BODY_LIMIT = 4_000_000;

export const StackName = Type.String({
  maxLength: 63,
  pattern: STACK_NAME_PATTERN,
  description: 'lower-case letters, digits and -, with a letter or a digit at its start and its end',
});

const Document = Type.String({
  maxLength: STACK_BODY_LIMIT,
  description: 'The text of ranvier.yaml, in YAML or JSON: at most 1,000,000 bytes',
});

export const SecretValues = TextMap(1000, 'Values of secrets, by service.KEY');

const FieldChange = Strict({
  path: Type.String({ description: 'A JSON pointer in the resource' }),
  from: described(Type.Unknown(), 'Null if it does not exist; *** for a value that is not shown'),
  to: Type.Unknown(),
});

const ChangeSchema = Strict(
  {
    action: oneOf('StackChangeAction', CHANGE_ACTIONS),
    kind: oneOf('StackChangeKind', CHANGE_KINDS),
    name: Type.String({ description: 'A variable is named service.KEY, and a volume service.volume' }),
    fields: Type.Array(FieldChange),
  },
  'StackChange',
);

const PlanSchema = Strict(
  {
    hash: Type.String({ description: 'An apply gives it back, so that it does what was seen' }),
    destructive: Type.Boolean({ description: 'An apply must confirm it with the name of the stack' }),
    changes: Type.Array(ChangeSchema),
    deploys: Type.Array(Type.String({ description: 'The name of a service' })),
    release: oneOf('StackRelease', STACK_RELEASES),
    secrets: Type.Array(Type.String({ description: 'service.KEY: the apply must give its value' })),
    warnings: Type.Array(Type.String()),
  },
  'StackPlan',
);
export type PlanPresentation = Static<typeof PlanSchema>;

const Format = described(
  oneOf('StackFormat', ['ranvier', ...IMPORT_FORMATS], 'ranvier'),
  'The format of the document. Another one is turned into a document first; warnings name what is lost',
);

export const PlanBody = Strict({
  name: StackName,
  document: Type.Optional(Document),
  format: Type.Optional(Format),
  template: Type.Optional(described(TemplateName, 'A template, in place of a document')),
  environmentId: Type.Optional(described(Uuid, 'Needed until the first apply; then the stack has it')),
  values: Type.Optional(
    described(SecretValues, 'Values of secrets, by service.KEY; of a template also answers, by the names of questions'),
  ),
});
export const PlanResponse = Strict({
  plan: PlanSchema,
  document: Nullable(
    Type.String({ description: 'The document that the template and its answers make: an apply takes it. Else null' }),
  ),
});

export const ApplyBody = Strict({
  document: Document,
  format: Type.Optional(Format),
  planHash: Type.String({ maxLength: 64, pattern: '^[0-9a-f]*$', description: 'The hash of the plan that was seen' }),
  confirmDestructive: Type.Optional(
    plainLine(63, { description: 'The name of the stack, if the plan deletes or replaces something' }),
  ),
  environmentId: Type.Optional(described(Uuid, 'Needed for the first apply; then the stack has it')),
  values: Type.Optional(SecretValues),
});

const ApplyFields = {
  id: Uuid,
  status: oneOf('StackApplyStatus', APPLY_STATUSES),
  release: oneOf('StackRelease', STACK_RELEASES),
  rollbackOf: Nullable(described(Uuid, 'The apply whose releases it brings back')),
  error: Type.String(),
  actor: Type.String(),
  createdAt: Timestamp,
  startedAt: Nullable(Timestamp),
  finishedAt: Nullable(Timestamp),
};
export const ApplySchema = Strict(ApplyFields, 'StackApply');
export type ApplyPresentation = Static<typeof ApplySchema>;
export const ApplyResponse = Strict({ apply: ApplySchema });
export const ApplyListResponse = Strict({ applies: Type.Array(ApplySchema), page: PageSchema });

export const StepSchema = Strict(
  {
    op: Type.String({ description: 'Such as service.create or variables.set' }),
    name: Type.String({ description: 'The resource' }),
    status: oneOf('StackStepStatus', STEP_STATUSES),
    error: Type.String(),
    resourceId: Nullable(described(Uuid, 'The service or group')),
    deploymentId: Nullable(Uuid),
    operationId: Nullable(
      described(Uuid, 'The restore of its data: GET …/services/{resourceId}/operations/{operationId}'),
    ),
    finishedAt: Nullable(Timestamp),
  },
  'StackStep',
);
export const ApplyDetailResponse = Strict({
  apply: Strict({
    ...ApplyFields,
    changes: Type.Array(ChangeSchema),
    deploys: Type.Array(Type.String()),
    warnings: Type.Array(Type.String()),
    steps: Type.Array(StepSchema),
  }),
});
export type ApplyDetail = Static<typeof ApplyDetailResponse>['apply'];

const StackFields = {
  id: Uuid,
  name: Type.String(),
  environmentId: Uuid,
  lastApply: Nullable(ApplySchema),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};
export const StackSchema = Strict(StackFields, 'Stack');
export const StackListResponse = Strict({ stacks: Type.Array(StackSchema), page: PageSchema });
export const StackResponse = Strict({
  stack: Strict({
    ...StackFields,
    resources: Type.Array(
      Strict({ kind: oneOf('StackResourceKind', ['service', 'group']), id: Uuid, name: Type.String() }),
    ),
    drift: Type.Array(ChangeSchema, { description: 'What an apply of the same document would change now' }),
    warnings: Type.Array(Type.String()),
  }),
});

export const DeleteStackBody = Strict({
  ...ConfirmBody.properties,
  keep: Type.Optional(Type.Boolean({ description: 'Only forget the stack; what it owns stays' })),
});
export const DeleteStackResponse = Strict({
  deleted: Type.Boolean({ description: 'False if an apply deletes what the stack owns first' }),
  apply: Nullable(ApplySchema),
});

export const ImportBody = Strict({
  format: oneOf('StackImportFormat', IMPORT_FORMATS),
  document: Type.String({
    maxLength: STACK_BODY_LIMIT,
    description: 'The text of the other file. For heroku, app.json and then the Procfile; either may be absent',
  }),
  repository: Type.Optional(
    plainLine(2048, { description: 'The address of the repository from which services are built' }),
  ),
  folder: Type.Optional(plainLine(512, { description: 'The folder of the file in the repository, such as deploy' })),
  files: Type.Optional(TextMap(50, 'Contents of files that it names, such as .env, by their paths in it')),
});
export const ImportResponse = Strict({
  document: Type.String({ description: 'YAML' }),
  lost: Type.Array(Type.String({ description: 'The place, and what a document cannot say of it' })),
  notes: Type.Array(Type.String({ description: 'The place, and what the platform does there in another way' })),
});

export const PullResponse = Strict({
  document: Type.String({ description: 'YAML, without any value of a variable' }),
  warnings: Type.Array(Type.String()),
});
