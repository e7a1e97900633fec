import { type Static, Type } from 'typebox';
import { Nullable, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

const RecordingSchema = Strict(
  {
    /** The id of the shell, which is the target of its audit entries. */
    id: Uuid,
    /** E-mail address, at that time, of the user who opened the shell. */
    actor: Type.String(),
    replica: Uuid,
    /** The requested command; null for the login shell. */
    command: Nullable(Type.Union([Type.String(), Type.Array(Type.String())])),
    startedAt: Timestamp,
    /** Null while the shell is open. */
    endedAt: Nullable(Timestamp),
    exitCode: Nullable(Type.Integer()),
    expiresAt: Timestamp,
  },
  'Recording',
);
export type RecordingView = Static<typeof RecordingSchema>;

export const RecordingListResponse = Strict({ recordings: Type.Array(RecordingSchema), page: PageSchema });
export const RecordingResponse = Strict({
  recording: RecordingSchema,
  /** The recording so far, as asciicast v2. Each line is a JSON value. */
  asciicast: Type.String(),
});
