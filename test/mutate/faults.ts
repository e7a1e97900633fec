import type { Fault } from './fault.js';
import { API_FAULTS } from './faults/api.js';
import { BACKUPS_FAULTS } from './faults/backups.js';
import { COMMITS_FAULTS } from './faults/commits.js';
import { DATA_FAULTS } from './faults/data.js';
import { DEPLOYMENTS_FAULTS } from './faults/deployments.js';
import { DOMAINS_FAULTS } from './faults/domains.js';
import { IDENTITY_FAULTS } from './faults/identity.js';
import { LOGS_FAULTS } from './faults/logs.js';
import { NETWORK_FAULTS } from './faults/network.js';
import { PREVIEWS_FAULTS } from './faults/previews.js';
import { QUEUES_FAULTS } from './faults/queues.js';
import { REPLICAS_FAULTS } from './faults/replicas.js';
import { ROUTING_FAULTS } from './faults/routing.js';
import { RUNS_FAULTS } from './faults/runs.js';
import { SCALING_FAULTS } from './faults/scaling.js';
import { SECRETS_FAULTS } from './faults/secrets.js';
import { SERVICES_FAULTS } from './faults/services.js';
import { VARIABLES_FAULTS } from './faults/variables.js';
import { WEBHOOKS_FAULTS } from './faults/webhooks.js';
import { WORKSPACES_FAULTS } from './faults/workspaces.js';

export const FAULTS: readonly Fault[] = [
  ...API_FAULTS,
  ...BACKUPS_FAULTS,
  ...COMMITS_FAULTS,
  ...DATA_FAULTS,
  ...DEPLOYMENTS_FAULTS,
  ...DOMAINS_FAULTS,
  ...IDENTITY_FAULTS,
  ...LOGS_FAULTS,
  ...NETWORK_FAULTS,
  ...PREVIEWS_FAULTS,
  ...QUEUES_FAULTS,
  ...REPLICAS_FAULTS,
  ...ROUTING_FAULTS,
  ...RUNS_FAULTS,
  ...SCALING_FAULTS,
  ...SECRETS_FAULTS,
  ...SERVICES_FAULTS,
  ...VARIABLES_FAULTS,
  ...WEBHOOKS_FAULTS,
  ...WORKSPACES_FAULTS,
];
