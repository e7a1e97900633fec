import type { Fault } from './fault.js';
import { API_FAULTS } from './faults/api.js';
import { DEPLOYMENTS_FAULTS } from './faults/deployments.js';
import { IDENTITY_FAULTS } from './faults/identity.js';
import { LOGS_FAULTS } from './faults/logs.js';
import { QUEUES_FAULTS } from './faults/queues.js';
import { REPLICAS_FAULTS } from './faults/replicas.js';
import { ROUTING_FAULTS } from './faults/routing.js';
import { SECRETS_FAULTS } from './faults/secrets.js';
import { SERVICES_FAULTS } from './faults/services.js';
import { VARIABLES_FAULTS } from './faults/variables.js';
import { WORKSPACES_FAULTS } from './faults/workspaces.js';

export const FAULTS: readonly Fault[] = [
  ...API_FAULTS,
  ...DEPLOYMENTS_FAULTS,
  ...IDENTITY_FAULTS,
  ...LOGS_FAULTS,
  ...QUEUES_FAULTS,
  ...REPLICAS_FAULTS,
  ...ROUTING_FAULTS,
  ...SECRETS_FAULTS,
  ...SERVICES_FAULTS,
  ...VARIABLES_FAULTS,
  ...WORKSPACES_FAULTS,
];
