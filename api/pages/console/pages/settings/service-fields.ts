import type { Service, ServiceConfiguration } from '../../api/types.js';
import type { FieldGroup, FieldText } from './schema-form.js';

const NEXT = 'A deployment makes it act.';

type Field = Omit<FieldText, 'name'> & { name: keyof ServiceConfiguration; kinds?: readonly Service['kind'][] };

/** Fields that do nothing if the installation lacks a capability of its catalog. */
const NEEDS: Readonly<Partial<Record<keyof ServiceConfiguration, string>>> = {
  sourceType: 'imageDeploys',
  image: 'imageDeploys',
  registryId: 'imageDeploys',
  dockerfilePath: 'dockerfileBuilds',
  dockerContext: 'dockerfileBuilds',
  autoDeploy: 'automaticDeploys',
  scaling: 'automaticScaling',
  minReplicas: 'automaticScaling',
  maxReplicas: 'automaticScaling',
  targetCpu: 'automaticScaling',
  targetMemory: 'automaticScaling',
  previewMode: 'previews',
  previewExpiryHours: 'previews',
};

const BUILT: readonly Service['kind'][] = ['web', 'static', 'private', 'worker', 'cron'];
const SERVING: readonly Service['kind'][] = ['web', 'static', 'private'];
const RUNNING: readonly Service['kind'][] = ['web', 'private', 'worker', 'cron'];
const PUBLIC: readonly Service['kind'][] = ['web', 'static'];
const DATA: readonly Service['kind'][] = ['postgres', 'redis'];

/** The fields in the groups in which people look for them. What acts at once has no effect to tell. */
const GROUPS: readonly { title: string; fields: readonly Field[] }[] = [
  {
    title: 'Source',
    fields: [
      {
        name: 'repository',
        label: 'Repository',
        hint: 'Its address, as you would clone it',
        effect: NEXT,
        kinds: BUILT,
      },
      { name: 'branch', label: 'Branch', effect: NEXT, kinds: BUILT },
      {
        name: 'rootDirectory',
        label: 'Root directory',
        hint: 'Empty for the whole repository',
        effect: NEXT,
        kinds: BUILT,
      },
      { name: 'sourceType', label: 'Source type', effect: NEXT, kinds: BUILT },
      { name: 'image', label: 'Image', hint: 'If it comes from an image', effect: NEXT, kinds: BUILT },
      {
        name: 'registryId',
        label: 'Registry',
        hint: 'Id of the registry that has the image, if it is private',
        effect: NEXT,
        kinds: BUILT,
      },
      { name: 'autoDeploy', label: 'Auto-deploy', kinds: BUILT },
      { name: 'includePaths', label: 'Build filter: included paths', hint: 'One per line', kinds: BUILT },
      { name: 'ignorePaths', label: 'Build filter: ignored paths', hint: 'One per line', kinds: BUILT },
    ],
  },
  {
    title: 'Build and start',
    fields: [
      { name: 'runtime', label: 'Runtime', effect: NEXT, kinds: BUILT },
      { name: 'buildMethod', label: 'Build method', effect: NEXT, kinds: BUILT },
      { name: 'buildCommand', label: 'Build command', hint: 'Empty: detected', effect: NEXT, kinds: BUILT },
      {
        name: 'preDeployCommand',
        label: 'Pre-deploy command',
        hint: 'For example a migration of the database',
        effect: NEXT,
        kinds: RUNNING,
      },
      { name: 'startCommand', label: 'Start command', hint: 'Empty: detected', effect: NEXT, kinds: RUNNING },
      { name: 'publishDirectory', label: 'Publish directory', effect: NEXT, kinds: ['static', 'web'] },
      { name: 'dockerfilePath', label: 'Dockerfile', effect: NEXT, kinds: BUILT },
      { name: 'dockerContext', label: 'Docker build context', effect: NEXT, kinds: BUILT },
    ],
  },
  {
    title: 'Running',
    fields: [
      { name: 'plan', label: 'Plan', hint: 'CPU and memory of each replica', effect: NEXT },
      { name: 'region', label: 'Region', effect: NEXT },
      { name: 'replicas', label: 'Replicas', kinds: ['web', 'private', 'worker'] },
      { name: 'scaling', label: 'Scaling', kinds: ['web', 'private', 'worker'] },
      {
        name: 'minReplicas',
        label: 'Minimum replicas',
        hint: 'With automatic scaling',
        kinds: ['web', 'private', 'worker'],
      },
      {
        name: 'maxReplicas',
        label: 'Maximum replicas',
        hint: 'With automatic scaling',
        kinds: ['web', 'private', 'worker'],
      },
      {
        name: 'targetCpu',
        label: 'Target CPU',
        hint: 'Percentage of the plan',
        kinds: ['web', 'private', 'worker'],
      },
      {
        name: 'targetMemory',
        label: 'Target memory',
        hint: 'Percentage of the plan',
        kinds: ['web', 'private', 'worker'],
      },
      {
        name: 'healthCheckPath',
        label: 'Health check path',
        hint: 'A path that answers 200 when all is well',
        effect: NEXT,
        kinds: SERVING,
      },
      { name: 'port', label: 'Port', hint: 'Applications get it as PORT', effect: NEXT, kinds: ['web', 'private'] },
      {
        name: 'privateNetworking',
        label: 'Private network',
        hint: 'Reaches its neighbours by name, and they reach it',
        effect: NEXT,
        kinds: RUNNING,
      },
    ],
  },
  {
    title: 'Schedule',
    fields: [
      { name: 'schedule', label: 'Schedule', hint: 'Minute, hour, day, month, weekday', kinds: ['cron'] },
      { name: 'timezone', label: 'Time zone', kinds: ['cron'] },
      { name: 'timeoutSeconds', label: 'Timeout', hint: 'Seconds', effect: NEXT, kinds: ['cron'] },
      { name: 'maxRetries', label: 'Retries', effect: NEXT, kinds: ['cron'] },
      { name: 'maxConcurrency', label: 'Concurrency', kinds: ['cron'] },
    ],
  },
  {
    title: 'Visitors',
    fields: [
      { name: 'maintenance', label: 'Maintenance', hint: 'Visitors get the maintenance page', kinds: PUBLIC },
      { name: 'maintenancePage', label: 'Maintenance page', hint: 'HTML', kinds: PUBLIC },
      {
        name: 'ipAllowList',
        label: 'IP allow list',
        hint: 'One address or range per line; empty allows all',
        kinds: PUBLIC,
      },
      {
        name: 'platformDomainEnabled',
        label: 'Platform domain',
        hint: 'Off: only its own domains answer',
        kinds: PUBLIC,
      },
      { name: 'cacheProfile', label: 'Cache profile', effect: NEXT, kinds: PUBLIC },
      { name: 'previewMode', label: 'Previews', kinds: PUBLIC },
      { name: 'previewExpiryHours', label: 'Preview expiry', hint: 'Hours after its last change', kinds: PUBLIC },
    ],
  },
  {
    title: 'Database',
    fields: [
      { name: 'databaseVersion', label: 'Version', kinds: ['postgres'], effect: NEXT },
      { name: 'databaseName', label: 'Name', hint: 'Created if empty', kinds: ['postgres'], effect: NEXT },
      { name: 'databaseUser', label: 'User', hint: 'Created if empty', kinds: ['postgres'], effect: NEXT },
      { name: 'evictionPolicy', label: 'Eviction policy', kinds: ['redis'], effect: NEXT },
      { name: 'backupEnabled', label: 'Daily backups', kinds: DATA },
      {
        name: 'backupRetentionDays',
        label: 'Backup retention',
        hint: 'Days; at most what the plan allows',
        kinds: DATA,
      },
    ],
  },
  {
    title: 'General',
    fields: [
      { name: 'description', label: 'Description' },
      { name: 'notifications', label: 'Deployment e-mails' },
    ],
  },
];

/** The groups of fields that mean something for a kind of service in this installation. */
export function fieldGroups(kind: Service['kind'], capabilities: Readonly<Record<string, boolean>>): FieldGroup[] {
  return GROUPS.map(({ title, fields }) => ({
    title,
    fields: fields.filter(
      ({ name, kinds }) => (kinds === undefined || kinds.includes(kind)) && capabilities[NEEDS[name] ?? ''] !== false,
    ),
  })).filter(({ fields }) => fields.length > 0);
}

/** True if a deployment is needed until these changes act. */
export function needsDeployment(names: readonly string[]): boolean {
  return GROUPS.some(({ fields }) => fields.some(({ name, effect }) => effect === NEXT && names.includes(name)));
}
