import { type Static, Type } from 'typebox';
import { TEMPLATE_NAME_PATTERN } from '../../../../shared/core/string-formats.js';
import { QuestionType } from '../../../../shared/templates/template-file.js';
import { Nullable, Strict, TextMap } from '../../../http/schema.js';

export const TemplateName = Type.String({
  maxLength: 127,
  pattern: TEMPLATE_NAME_PATTERN,
  description: 'the name of a template of the platform, or source.template',
});

const QuestionSchema = Strict(
  {
    name: Type.String({ description: 'The key of its answer in values' }),
    label: Type.String(),
    help: Type.String(),
    type: QuestionType,
    default: Type.String({ description: 'The answer if none is given' }),
    example: Type.String({ description: 'An answer that fits, as a hint' }),
    required: Type.Boolean({ description: 'An answer must be given' }),
    secret: Type.Boolean({
      description: 'The value of a secret: it is given with the apply, and never stands in the document',
    }),
    pattern: Type.String({ description: 'A regular expression that the answer matches; empty: any text' }),
  },
  'TemplateQuestion',
);

const TemplateFields = {
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  categories: Type.Array(Type.String()),
  website: Type.String(),
  source: Type.String({ description: 'The repository of the application' }),
  version: Type.String({ description: 'The version of the application that the document names' }),
  checked: Nullable(
    Type.String({ description: 'The day on which this version was deployed for a check; null if it was not yet' }),
  ),
  memoryMb: Type.Integer({ description: 'Memory that all its services need, in MiB' }),
  questions: Type.Array(QuestionSchema),
};
const TemplateSchema = Strict(TemplateFields, 'Template');
export type TemplatePresentation = Static<typeof TemplateSchema>;
export const TemplateListResponse = Strict({ templates: Type.Array(TemplateSchema) });
export const TemplateResponse = Strict({
  template: Strict({
    ...TemplateFields,
    document: Type.String({ description: 'YAML, with a placeholder for each answer' }),
  }),
});

export const FillBody = Strict({ values: Type.Optional(TextMap(1000, 'Answers by the names of the questions')) });
export const FillResponse = Strict({ document: Type.String({ description: 'YAML, without any value of a secret' }) });
