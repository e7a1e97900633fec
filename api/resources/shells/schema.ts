import { type Static, Type } from 'typebox';
import type { Config } from '../../../shared/core/config.js';
import { MAX_COLUMNS, MAX_ROWS } from '../../../shared/remote/model.js';
import type { RemoteSessionRow } from '../../../shared/remote/store.js';
import { described, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { CommandText } from '../runs/schema.js';

export const ShellBody = Strict({
  replica: Type.Optional(described(Uuid, 'A replica or a run; by default a ready replica of the live release')),
  command: Type.Optional(
    described(CommandText, 'A command line for `sh -c`, or a program with its arguments. By default the login shell'),
  ),
  columns: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_COLUMNS, description: 'With `rows`: makes a terminal of this size' }),
  ),
  rows: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_ROWS })),
});
export type ShellInput = Static<typeof ShellBody>;

export const OpeningSchema = {
  id: Uuid,
  address: Type.String({ description: 'A WebSocket. Its last part is a secret ticket; the key is not needed again' }),
  expiresAt: described(Timestamp, 'Until when it can be opened. What is open goes on'),
};

export const ShellResponse = Strict({ shell: Strict(OpeningSchema, 'Shell') });

/** Presents the URL at which a client opens a session. `path` is the WebSocket's path and contains the ticket. */
export function presentOpening(
  { id, expires_at }: Pick<RemoteSessionRow, 'id' | 'expires_at'>,
  { publicUrl }: Pick<Config, 'publicUrl'>,
  path: string,
): { id: string; address: string; expiresAt: string } {
  return { id, address: publicUrl.replace(/^http/, 'ws') + path, expiresAt: expires_at.toISOString() };
}
