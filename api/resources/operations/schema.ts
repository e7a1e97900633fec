import { type Static, Type } from 'typebox';
import type { OperationRow } from '../../../shared/operations/model.js';
import { OPERATION_KINDS, OPERATION_STATUSES } from '../../../shared/operations/model.js';
import { present } from '../../http/present.js';
import { oneOf, PageSchema, Strict, Timestamp, Uuid } from '../../http/schema.js';

export const OperationSchema = Strict(
  {
    id: Uuid,
    kind: oneOf('OperationKind', OPERATION_KINDS),
    status: oneOf('OperationStatus', OPERATION_STATUSES),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'Operation',
);
export type OperationView = Static<typeof OperationSchema>;
export const presentOperation = (row: OperationRow) => present(OperationSchema, row);

export const OperationResponse = Strict({ operation: OperationSchema });
export const OperationListResponse = Strict({ operations: Type.Array(OperationSchema), page: PageSchema });
