import type { Service, ServiceConfiguration } from '../../api/types.js';
import type { FieldGroup, FieldText, Values } from './schema-form.js';

const NEXT = 'Takes effect with the next deployment.';

type Kinds = readonly Service['kind'][];

interface Rules {
  kinds: Kinds;
  /** True if a change takes effect with the next deployment, and not at once. */
  deploys?: boolean;
  applies?: FieldText['applies'];
}

/**
 * Fields with a common subject. The group's `kinds` and `deploys` apply to each field that does not set them itself.
 */
interface Group extends Rules {
  title: string;
  fields: { readonly [Name in keyof ServiceConfiguration]?: [label: string, hint: string, rules?: Partial<Rules>] };
}

/** Field → a capability that some installations lack. Without this capability, the field is not shown. */
const NEEDS: Readonly<Record<string, string>> = {
  sourceType: 'imageDeploys',
  image: 'imageDeploys',
  registryId: 'imageDeploys',
  dockerfilePath: 'dockerfileBuilds',
  dockerContext: 'dockerfileBuilds',
  dockerfileTarget: 'dockerfileBuilds',
  dockerfileText: 'dockerfileBuilds',
  autoDeploy: 'automaticDeploys',
  scaling: 'automaticScaling',
  minReplicas: 'automaticScaling',
  maxReplicas: 'automaticScaling',
  targetCpu: 'automaticScaling',
  targetMemory: 'automaticScaling',
  previewMode: 'previews',
  previewDatabases: 'previews',
  previewExpiryHours: 'previews',
} satisfies { [Name in keyof ServiceConfiguration]?: string };

const BUILT: Kinds = ['web', 'static', 'private', 'worker', 'cron'];
const SERVING: Kinds = ['web', 'static', 'private'];
const RUNNING: Kinds = ['web', 'private', 'worker', 'cron'];
const SCALED: Kinds = ['web', 'private', 'worker'];
const PUBLIC: Kinds = ['web', 'static'];
const BACKED_UP: Kinds = ['postgres', 'redis', ...RUNNING];
const ALL: Kinds = ['postgres', 'redis', ...BUILT];

const fromRepository = ({ sourceType }: Values) => sourceType === 'repository';
const isImage = ({ sourceType, buildMethod, runtime }: Values) => [sourceType, buildMethod, runtime].includes('image');
const isBuilt = (values: Values) => !isImage(values);
const withDockerfile = ({ buildMethod }: Values) => buildMethod === 'dockerfile';
const scalesItself = ({ scaling }: Values) => scaling === 'auto';
const hasPreviews = ({ previewMode }: Values) => previewMode !== 'off';

const GROUPS: readonly Group[] = [
  {
    title: 'Source',
    kinds: BUILT,
    deploys: true,
    fields: {
      sourceType: ['Source type', 'A git repository, a container image, or git push to this platform'],
      repository: ['Repository', 'The URL of the git repository, HTTPS or SSH', { applies: fromRepository }],
      branch: ['Branch', 'The branch, tag or commit that is deployed', { applies: isBuilt }],
      rootDirectory: [
        'Root directory',
        'The folder of the application; empty for the whole repository',
        { applies: isBuilt },
      ],
      image: [
        'Image',
        'The container image to run, such as nginx:1.27, if the source is an image',
        { applies: isImage },
      ],
      registryId: ['Registry', 'The id of the private registry that holds the image', { applies: isImage }],
      autoDeploy: ['Auto-deploy', 'Deploy each new commit of the branch', { deploys: false, applies: fromRepository }],
      includePaths: [
        'Build filter: included paths',
        'Deploy only commits that change one of these paths; one pattern per line',
        { deploys: false, applies: fromRepository },
      ],
      ignorePaths: [
        'Build filter: ignored paths',
        'Do not deploy commits that change only these paths; one pattern per line',
        { deploys: false, applies: fromRepository },
      ],
    },
  },
  {
    title: 'Build and deploy',
    kinds: BUILT,
    deploys: true,
    fields: {
      runtime: ['Runtime', 'The language of the application'],
      buildMethod: ['Build method', 'How the source becomes an image or a static site'],
      buildCommand: [
        'Build command',
        'Builds the application; empty: detected from the repository',
        { applies: isBuilt },
      ],
      preDeployCommand: [
        'Pre-deploy command',
        'Runs before each release, for example a database migration',
        { kinds: RUNNING },
      ],
      startCommand: [
        'Start command',
        'Starts the application; empty: detected from the repository',
        { kinds: RUNNING },
      ],
      startArguments: [
        'Arguments of the image',
        "Given to the image's ENTRYPOINT in place of its CMD; one per line. The start command takes precedence",
        { kinds: RUNNING, applies: (values) => isImage(values) || withDockerfile(values) },
      ],
      publishDirectory: ['Publish directory', 'The folder with the files of a static site', { kinds: PUBLIC }],
      dockerfilePath: [
        'Dockerfile path',
        'The path of the Dockerfile, from the root directory',
        { applies: withDockerfile },
      ],
      dockerfileText: ['Dockerfile', 'A Dockerfile in place of one of the repository', { applies: withDockerfile }],
      dockerContext: [
        'Docker build context',
        'The build context of the Dockerfile, from the root directory',
        { applies: withDockerfile },
      ],
      dockerfileTarget: [
        'Dockerfile stage',
        'The stage that is built; empty: the last one',
        { applies: withDockerfile },
      ],
    },
  },
  {
    title: 'Scaling and health',
    kinds: SCALED,
    fields: {
      plan: ['Plan', 'CPU and memory of each replica', { deploys: true, kinds: ALL }],
      region: ['Region', 'Where the service runs', { deploys: true, kinds: ALL }],
      replicas: [
        'Replicas',
        'The number of running copies, with manual scaling',
        { applies: (values) => !scalesItself(values) },
      ],
      scaling: ['Scaling', 'Manual keeps the number of replicas; automatic follows CPU and memory usage'],
      minReplicas: [
        'Minimum replicas',
        'Automatic scaling never goes below this; with 0 a web service sleeps while it has no visitors',
        { applies: scalesItself },
      ],
      maxReplicas: ['Maximum replicas', 'Automatic scaling never goes above this', { applies: scalesItself }],
      targetCpu: [
        'Target CPU',
        'Automatic scaling aims at this average, in per cent of the plan',
        { applies: scalesItself },
      ],
      targetMemory: [
        'Target memory',
        'Automatic scaling aims at this average, in per cent of the plan',
        { applies: scalesItself },
      ],
      healthCheckPath: [
        'Health check path',
        'A path that answers with status 200 when the service is healthy, such as /health',
        { deploys: true, kinds: SERVING },
      ],
      port: [
        'Port',
        'The port on which the application listens, which is also in its variable PORT',
        { deploys: true, kinds: ['web', 'private'] },
      ],
      privateNetworking: [
        'Private networking',
        'Services of the same environment reach each other by their internal host names',
        { deploys: true, kinds: RUNNING },
      ],
    },
  },
  {
    title: 'Schedule',
    kinds: ['cron'],
    fields: {
      schedule: ['Schedule', 'A cron expression: minute, hour, day, month, weekday'],
      timezone: ['Time zone', 'The time zone of the schedule, such as Europe/Berlin'],
      timeoutSeconds: ['Timeout', 'A run is stopped after this many seconds', { deploys: true }],
      maxRetries: ['Retries', 'How often a failed run is tried again', { deploys: true }],
      maxConcurrency: ['Concurrency', 'How many runs may be active at the same time'],
    },
  },
  {
    title: 'Networking',
    kinds: PUBLIC,
    fields: {
      maintenance: ['Maintenance mode', 'Visitors see the maintenance page instead of the service'],
      maintenancePage: [
        'Maintenance page',
        'The HTML of the maintenance page; empty for the default page',
        { applies: ({ maintenance }) => maintenance === true },
      ],
      ipAllowList: ['IP allow list', 'Only these addresses and CIDR ranges may visit; one per line, empty allows all'],
      platformDomainEnabled: ['Platform domain', 'Turn it off to serve only your custom domains'],
      cacheProfile: ['Caching', 'Which files of a static site browsers may cache', { deploys: true }],
      previewMode: ['Previews', 'Run other branches at their own URLs: by hand, or for each pushed branch'],
      previewDatabases: [
        'Databases of previews',
        'Own ones begin with the latest verified backup and are deleted with the preview',
        { deploys: true, applies: hasPreviews },
      ],
      previewExpiryHours: [
        'Preview expiry',
        'A preview is deleted this many hours after its last deployment',
        { applies: hasPreviews },
      ],
    },
  },
  {
    title: 'Database',
    kinds: ['postgres'],
    deploys: true,
    fields: {
      databaseVersion: ['PostgreSQL version', 'The major version; it cannot change once there is data'],
      databaseName: [
        'Database name',
        'Empty: derived from the name of the service. It cannot change once there is data',
      ],
      databaseUser: [
        'Database user',
        'Empty: derived from the name of the service. It cannot change once there is data',
      ],
      evictionPolicy: ['Eviction policy', 'Which keys are removed when the memory is full', { kinds: ['redis'] }],
    },
  },
  {
    title: 'Backups',
    kinds: BACKED_UP,
    fields: {
      backupEnabled: ['Daily backups', 'Make a verified backup of the database or of the volumes each day'],
      backupRetentionDays: [
        'Backup retention',
        'Days until a backup is deleted, at most those of the plan',
        { applies: ({ backupEnabled }) => backupEnabled === true },
      ],
    },
  },
  {
    title: 'General',
    kinds: ALL,
    fields: {
      description: ['Description', 'Shown to members of the workspace'],
      notifications: ['Deployment e-mails', 'Which deployments send an e-mail'],
    },
  },
];

function fieldsOf({ kinds, deploys = false, fields }: Group) {
  return Object.entries(fields).map(([name, [label, hint, rules]]) => ({
    name,
    label,
    hint,
    kinds,
    deploys,
    ...rules,
  }));
}

export function fieldGroups(kind: Service['kind'], capabilities: Readonly<Record<string, boolean>>): FieldGroup[] {
  return GROUPS.map((group) => ({
    title: group.title,
    fields: fieldsOf(group)
      .filter(({ name, kinds }) => kinds.includes(kind) && capabilities[NEEDS[name] ?? ''] !== false)
      .map(({ deploys, ...field }) => (deploys ? { ...field, effect: NEXT } : field)),
  })).filter(({ fields }) => fields.length > 0);
}

export function needsDeployment(names: readonly string[]): boolean {
  return GROUPS.flatMap(fieldsOf).some(({ name, deploys }) => deploys && names.includes(name));
}
