import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Type } from 'typebox';
import {
  findRecordedShell,
  listRecordedShells,
  type RecordedShell,
  readRecordingParts,
} from '../../../shared/remote/recording-store.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { present } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { Nullable, PageQuery, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';
import { readService } from '../services/find-service.js';

const RecordingSchema = Strict(
  {
    /** The id of the shell, which is the target of its audit entries. */
    id: Uuid,
    /** E-mail address of the user who opened the shell, recorded at that time. */
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

const RecordingListResponse = Strict({ recordings: Type.Array(RecordingSchema), page: PageSchema });
const RecordingResponse = Strict({
  recording: RecordingSchema,
  /** The recording so far, as asciicast v2. Each line is a JSON value. */
  asciicast: Type.String(),
});

const unpack = promisify(gunzip);

/** Recordings of shells, if the workspace has enabled `recordShells`. */
export const recordingRoutes = [
  defineRoute('GET', '/workspaces/:workspaceId/services/:serviceId/recordings', 'recording.list', {
    summary: 'List recordings of shells',
    description: 'The recorded shells of a service, newest first. Kept as long as the lines of its log.',
    query: PageQuery,
    response: RecordingListResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const page = await listRecordedShells(request.db, id, pageRequest(request));
      return { recordings: page.items.map(presentRecording), page: presentPage(request, page) };
    },
  }),
  defineRoute('GET', '/workspaces/:workspaceId/services/:serviceId/recordings/:recordingId', 'recording.read', {
    summary: 'Read the recording of a shell',
    description:
      'What a shell printed, as asciicast v2, which asciinema plays. It is stored every few seconds, and ends after 4 MiB.',
    response: RecordingResponse,
    handler: async (request) => {
      const { id } = await readService(request);
      const shell = found(await findRecordedShell(request.db, id, request.params.recordingId));
      const parts = await readRecordingParts(request.db, shell.id);
      const text = parts.length === 0 ? '' : (await unpack(Buffer.concat(parts))).toString('utf8');
      return { recording: presentRecording(shell), asciicast: text };
    },
  }),
];

function presentRecording(row: RecordedShell) {
  return present(RecordingSchema, row, {
    replica: row.replica_id,
    startedAt: (row.opened_at ?? row.created_at).toISOString(),
    expiresAt: (row.recorded_until ?? row.created_at).toISOString(),
  });
}
