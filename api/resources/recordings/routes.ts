import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import {
  findRecordedShell,
  listRecordedShells,
  type RecordedShell,
  readRecordingParts,
} from '../../../shared/remote/recording-store.js';
import { found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { PageQuery } from '../../http/schema.js';
import { readService } from '../services/find-service.js';
import { RecordingListResponse, RecordingResponse, type RecordingView } from './schema.js';

const unpack = promisify(gunzip);

/** Recordings of shells, if the workspace has enabled `recordShells`. */
export const recordingRoutes = [
  defineRoute({
    method: 'GET',
    path: '/workspaces/:workspaceId/services/:serviceId/recordings',
    operation: 'recording.list',
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
  defineRoute({
    method: 'GET',
    path: '/workspaces/:workspaceId/services/:serviceId/recordings/:recordingId',
    operation: 'recording.read',
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

function presentRecording(row: RecordedShell): RecordingView {
  const { id, actor, replica_id, command, opened_at, created_at, ended_at, exit_code, recorded_until } = row;
  return {
    id,
    actor,
    replica: replica_id,
    command,
    startedAt: (opened_at ?? created_at).toISOString(),
    endedAt: ended_at?.toISOString() ?? null,
    exitCode: exit_code,
    expiresAt: (recorded_until ?? created_at).toISOString(),
  };
}
