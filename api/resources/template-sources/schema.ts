import { type Static, Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { PartialServiceConfigurationSchema } from '../../../shared/services/configuration.js';
import { FIELD_DESCRIPTIONS } from '../../../shared/services/field-descriptions.js';
import { Nullable, oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { StackName } from '../stacks/schema.js';

export const RepositoryAddress = plainLine(2048, {
  minLength: 1,
  description: `one line without control characters. ${FIELD_DESCRIPTIONS.repository}`,
});

export const CreateTemplateSourceBody = Strict({
  name: StackName,
  repository: RepositoryAddress,
  branch: PartialServiceConfigurationSchema.properties.branch,
});

export const TemplateSourceSchema = Strict(
  {
    id: Uuid,
    name: Type.String({ description: 'Its templates are named <name>.<file without .yaml>' }),
    repository: Type.String({ description: 'Without its credentials' }),
    branch: Type.String(),
    state: oneOf('TemplateSourceState', ['reading', 'ready', 'failed']),
    error: Type.String({
      description: 'Why the repository could not be read; its templates are those of the reading before',
    }),
    commitSha: Nullable(Type.String({ description: 'The commit whose templates these are' })),
    templates: Type.Array(Type.String(), { description: 'The names of its templates' }),
    problems: Type.Array(
      Strict({ file: Type.String(), message: Type.String({ description: 'Why the file is no template' }) }),
    ),
    readAt: Nullable(Timestamp),
    createdAt: Timestamp,
  },
  'TemplateSource',
);
export type TemplateSourceView = Static<typeof TemplateSourceSchema>;
export const TemplateSourceResponse = Strict({ templateSource: TemplateSourceSchema });
export const TemplateSourceListResponse = Strict({
  templateSources: Type.Array(TemplateSourceSchema),
  page: PageSchema,
});
