import { describeApi } from '../http/openapi.js';
import type { Json } from '../http/openapi-schemas.js';
import { ROUTES } from './index.js';
import { DELIVERIES } from './webhooks/deliveries.js';

const TAGS = {
  catalog: 'What the installation offers: service types, plans, regions and runtimes',
  workspace: 'Workspaces: settings, costs and usage',
  'deploy-key': 'The SSH key that reads private repositories, and the servers it was used for',
  webhook: 'Outgoing webhooks, which report deployments, runs, backups and costs to other systems',
  alert: 'Alert rules: who is told when a figure of a service is too high',
  drain: 'Drains, which send logs, metrics and traces to a collector of OpenTelemetry',
  project: 'Projects, which group services by environment',
  environment: 'Environments of a project; in a protected one only admins change anything',
  stack: 'Stacks: what an environment is, in a document',
  template: 'Templates: documents with questions, for applications that many people run',
  'template-source': "Repositories with a workspace's own templates",
  service: 'Services: applications and databases',
  deployment: 'Deployments: a build of a source and its release',
  detection: 'What a deployment of a repository would build and run',
  operation: 'Queued changes of a service: restart, suspend, resume, routing, restore, delete',
  run: 'Runs of cron services and of given commands',
  recording: 'Recordings: what the shells of a service printed, if its workspace records them',
  shell: 'Shells: live access to the replicas of a service',
  credentials: 'Credentials of databases',
  tunnel: 'Tunnels: connections to ports of services in their private networks',
  hook: 'Incoming webhooks: URLs to which git hosts report pushes',
  backup: 'Backups of databases',
  volume: 'Volumes: folders of a service whose content survives a new release',
  variable: 'Variables of a service, which are encrypted and never shown',
  group: 'Environment groups: variables that several services share',
  'group-variable': 'Variables of an environment group',
  log: 'Log lines of builds, releases and replicas',
  preview: 'Previews: services that show another branch for a limited time',
  'pull-request': 'Pull requests that git hosts have reported',
  domain: 'Host names of services',
  rule: 'Rules by which the edges treat requests of a service',
  metrics: 'Measurements of a service over time',
  canvas: 'The canvas: services with their positions and their references',
  member: 'Members of a workspace and their roles',
  invitation: 'Invitations of people who have no account',
  'sign-in': 'Who becomes a member by signing in with the provider of OpenID Connect',
  key: 'API keys',
  audit: 'Who changed what',
  session: 'Sign-in with a browser session',
  mfa: 'The second factor of the signed-in user',
  passkey: 'Passkeys, which sign in without a password',
  verification: 'Verification of the e-mail address',
};

export function apiDocument(): Json {
  return describeApi(ROUTES, { tags: TAGS, deliveries: DELIVERIES });
}
