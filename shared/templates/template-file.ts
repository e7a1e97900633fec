import { type Static, Type } from 'typebox';
import { Strict } from '../core/json-schema.js';
import { plainLine, plainText } from '../core/plain-text.js';
import { oneOf } from '../services/configuration.js';

/** Maximum length of an answer in characters. An answer that is a secret may be as long as the value of a variable. */
export const MAX_ANSWER_LENGTH = 1000;

/** A plain name, or `service.KEY` to ask for the value of a secret in the document. */
const QUESTION_NAME = '^[a-z][A-Za-z0-9]{0,39}$|^[a-z0-9-]{1,63}\\.[A-Z][A-Z0-9_]{0,63}$';

const HttpsAddress = Type.String({ pattern: '^https://', maxLength: 200 });

export const QuestionType = oneOf('TemplateQuestionType', ['text', 'number']);

/** The file's name without `.yaml` is the template's name. */
export const TemplateFile = Strict({
  title: plainLine(60, { minLength: 1 }),
  description: plainLine(200, { minLength: 1 }),
  categories: Type.Array(plainLine(30, { minLength: 1 }), { minItems: 1, maxItems: 5 }),
  website: HttpsAddress,
  source: HttpsAddress,
  version: plainLine(40, { minLength: 1 }),
  /** The date on which `npm run check:templates` deployed this version; absent before that. */
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

/** A question as the API returns it, with default values filled in. */
export type Question = Required<NonNullable<TemplateFile['questions']>[number]>;

export type TemplateFacts = Omit<TemplateFile, 'stack' | 'questions' | 'checked'> & {
  name: string;
  checked: string | null;
  questions: Question[];
};
