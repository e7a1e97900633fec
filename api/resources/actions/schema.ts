import { Type } from 'typebox';
import { RUNTIME_ACTIONS } from '../../../shared/operations/model.js';
import { oneOf, Strict } from '../../http/schema.js';
import { DeploymentResponse } from '../deployments/schema.js';
import { OperationSchema } from '../operations/schema.js';

export const ActionBody = Strict({ action: oneOf('ServiceAction', [...RUNTIME_ACTIONS, 'deploy', 'clear-cache']) });
export const ActionResponse = Type.Union([
  Strict({ queued: Type.Literal(true), operation: OperationSchema }),
  DeploymentResponse,
]);
