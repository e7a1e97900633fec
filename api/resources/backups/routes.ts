import { findBackup, listBackups } from '../../../shared/backups/store.js';
import { findServiceView } from '../../../shared/services/store.js';
import { assertConfirmed, found } from '../../http/assertions.js';
import { pageRequest, presentPage } from '../../http/pagination.js';
import { defineRoute } from '../../http/route.js';
import { DeletedResponse, PageQuery } from '../../http/schema.js';
import { presentOperation } from '../operations/schema.js';
import { lockService, readService } from '../services/find-service.js';
import { LIVE_SERVICE_ERRORS } from '../services/lock-live-service.js';
import { queueBackup, queueRestore, removeBackup } from './commands.js';
import {
  BackupListResponse,
  BackupResponse,
  CreateBackupBody,
  presentBackup,
  RestoreBody,
  RestoreResponse,
} from './schema.js';

const COLLECTION = '/workspaces/:workspaceId/services/:serviceId/backups';
const ONE = '/workspaces/:workspaceId/services/:serviceId/backups/:backupId';

export const backupRoutes = [
  defineRoute('GET', COLLECTION, 'backup.list', {
    summary: 'List backups',
    description: 'The backups of a database or of the volumes of a service, newest first.',
    query: PageQuery,
    response: BackupListResponse,
    handler: async (request) => {
      const service = await readService(request);
      const page = await listBackups(request.db, service.id, pageRequest(request));
      return { backups: page.items.map((row) => presentBackup(row, service)), page: presentPage(request, page) };
    },
  }),
  defineRoute('POST', COLLECTION, 'backup.create', {
    summary: 'Create a backup',
    description:
      'Queues a backup of a database, or of all volumes of a service, now: read it until it has succeeded or failed.',
    body: CreateBackupBody,
    example: { pause: true },
    errors: ['capacity_exceeded', ...LIVE_SERVICE_ERRORS],
    status: 202,
    response: BackupResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, needEngine } = request;
      const service = await lockService(request);
      needEngine();
      const input = { service, actor: caller.email, pause: body.pause };
      return { backup: presentBackup(await queueBackup(trx, deps, input), service) };
    },
  }),
  defineRoute('GET', ONE, 'backup.read', {
    summary: 'Read a backup',
    description: 'Status, size and expiry of the backup.',
    response: BackupResponse,
    handler: async (request) => {
      const service = await readService(request);
      return {
        backup: presentBackup(found(await findBackup(request.db, service.id, request.params.backupId)), service),
      };
    },
  }),
  defineRoute('DELETE', ONE, 'backup.delete', {
    summary: 'Delete a backup',
    description: 'Deletes a backup that has ended, for good.',
    errors: ['conflict'],
    response: DeletedResponse,
    handler: async (request) => {
      const { id } = await lockService(request);
      await removeBackup(request.trx, { serviceId: id, backupId: request.params.backupId });
      return { deleted: true } as const;
    },
  }),
  defineRoute('POST', `${ONE}/restore`, 'backup.restore', {
    summary: 'Restore a backup',
    description:
      'Queues the replacement of the data, or of the content of the volumes, by those of the backup, which may be of another service (from). confirm is the name of the service.',
    errors: LIVE_SERVICE_ERRORS,
    body: RestoreBody,
    status: 202,
    response: RestoreResponse,
    engine: true,
    handler: async (request) => {
      const { deps, trx, caller, body, params, authorize, needEngine } = request;
      const service = await lockService(request);
      assertConfirmed(body.confirm, service);
      const from = body.from === undefined ? service : found(await findServiceView(trx, params.workspaceId, body.from));
      authorize({ protectedEnvironment: from.environment_protected });
      needEngine();
      const input = { service, backupId: params.backupId, actor: caller.email, from };
      return { queued: true, operation: presentOperation(await queueRestore(trx, deps, input)) } as const;
    },
  }),
];
