import { type Static, Type } from 'typebox';
import { plainLine, plainText } from '../../../../shared/core/plain-text.js';
import { STACK_NAME_PATTERN } from '../../../../shared/core/string-formats.js';
import { VALUE_BYTES } from '../../../../shared/variables/model.js';
import { Nullable, oneOf, Strict } from '../../../http/schema.js';

/** The most characters of an answer. Values of secrets may be as long as those of variables. */
export const MAX_ANSWER_LENGTH = 1000;

/** The name of a question, or `service.KEY`: a secret of the document, whose value is asked for. */
const QUESTION_NAME = '^[a-z][A-Za-z0-9]{0,39}$|^[a-z0-9-]{1,63}\\.[A-Z][A-Z0-9_]{0,63}$';

const HttpsAddress = Type.String({ pattern: '^https://', maxLength: 200 });

export const TemplateName = Type.String({
  maxLength: 63,
  pattern: STACK_NAME_PATTERN,
  description: 'lower-case letters, digits and -, with a letter or a digit at its start and its end',
});

const QuestionType = oneOf('TemplateQuestionType', ['text', 'number']);

/** A file of the catalog. Its name without `.yaml` is the name of the template. */
export const TemplateFile = Strict({
  title: plainLine(60, { minLength: 1 }),
  description: plainLine(200, { minLength: 1 }),
  categories: Type.Array(plainLine(30, { minLength: 1 }), { minItems: 1, maxItems: 5 }),
  website: HttpsAddress,
  source: HttpsAddress,
  version: plainLine(40, { minLength: 1 }),
  /** Left out until `npm run check:templates` has deployed this version. */
  checked: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', maxLength: 10 })),
  memoryMb: Type.Integer({ minimum: 1 }),
  questions: Type.Optional(
    Type.Array(
      Strict({
        name: Type.String({ pattern: QUESTION_NAME, maxLength: 128 }),
        label: plainLine(100, { minLength: 1 }),
        help: Type.Optional(plainText(500)),
        type: Type.Optional(QuestionType),
        default: Type.Optional(plainLine(MAX_ANSWER_LENGTH)),
        example: Type.Optional(plainLine(MAX_ANSWER_LENGTH)),
        required: Type.Optional(Type.Boolean()),
        secret: Type.Optional(Type.Boolean()),
        pattern: Type.Optional(Type.String({ maxLength: 200 })),
      }),
      { maxItems: 20 },
    ),
  ),
  stack: Type.Object({}),
});
export type TemplateFile = Static<typeof TemplateFile>;

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
export type Question = Static<typeof QuestionSchema>;

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

const Answers = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string', maxLength: VALUE_BYTES },
  maxProperties: 1000,
  description: 'Answers by the names of the questions',
});
export const FillBody = Strict({ values: Type.Optional(Answers) });
export const FillResponse = Strict({ document: Type.String({ description: 'YAML, without any value of a secret' }) });
