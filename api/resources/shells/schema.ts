import { type Static, Type } from 'typebox';
import { plainText } from '../../../shared/core/plain-text.js';
import { MAX_COLUMNS, MAX_ROWS } from '../../../shared/remote/model.js';
import { MAX_COMMAND_LENGTH } from '../../../shared/runs/model.js';
import { described, Strict, Timestamp, Uuid } from '../../http/schema.js';

const given = (minLength: number) => plainText(MAX_COMMAND_LENGTH, { minLength });

export const ShellBody = Strict({
  replica: Type.Optional(described(Uuid, 'A replica or a run; by default a ready replica of the live release')),
  command: Type.Optional(
    described(
      Type.Union([given(1), Type.Array(given(0), { minItems: 1, maxItems: 200 })]),
      'A command line for `sh -c`, or a program with its arguments. By default the login shell',
    ),
  ),
  columns: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_COLUMNS, description: 'With `rows`: makes a terminal of this size' }),
  ),
  rows: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_ROWS })),
});
export type ShellInput = Static<typeof ShellBody>;

/** Where a session is opened, and until when. */
export const OpeningSchema = {
  id: Uuid,
  address: Type.String({ description: 'A WebSocket. Its last part is a secret ticket; the key is not needed again' }),
  expiresAt: described(Timestamp, 'Until when it can be opened. What is open goes on'),
};

export const ShellResponse = Strict({ shell: Strict(OpeningSchema, 'Shell') });
