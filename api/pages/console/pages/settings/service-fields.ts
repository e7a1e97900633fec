import type { Service, ServiceConfiguration } from '../../api/types.js';
import type { FieldGroup, FieldText, Values } from './schema-form.js';

const NEXT = 'Takes effect with the next deployment.';

type Field = Omit<FieldText, 'name'> & { name: keyof ServiceConfiguration; kinds?: readonly Service['kind'][] };

/** Field → the capability of the installation that it needs. Without it, the field is not shown. */
const NEEDS: Readonly<Partial<Record<keyof ServiceConfiguration, string>>> = {
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
};

const BUILT: readonly Service['kind'][] = ['web', 'static', 'private', 'worker', 'cron'];
const SERVING: readonly Service['kind'][] = ['web', 'static', 'private'];
const RUNNING: readonly Service['kind'][] = ['web', 'private', 'worker', 'cron'];
const SCALED: readonly Service['kind'][] = ['web', 'private', 'worker'];
const PUBLIC: readonly Service['kind'][] = ['web', 'static'];
const BACKED_UP: readonly Service['kind'][] = ['postgres', 'redis', ...RUNNING];

const fromRepository = ({ sourceType }: Values) => sourceType === 'repository';
const isImage = ({ sourceType, buildMethod, runtime }: Values) => [sourceType, buildMethod, runtime].includes('image');
const isBuilt = (values: Values) => !isImage(values);
const withDockerfile = ({ buildMethod }: Values) => buildMethod === 'dockerfile';
const scalesItself = ({ scaling }: Values) => scaling === 'auto';
const hasPreviews = ({ previewMode }: Values) => previewMode !== 'off';

/** The fields of the settings page. A field without `effect` takes effect at once. */
const GROUPS: readonly { title: string; fields: readonly Field[] }[] = [
  {
    title: 'Source',
    fields: [
      {
        name: 'sourceType',
        label: 'Source type',
        hint: 'A git repository, a container image, or git push to this platform',
        effect: NEXT,
        kinds: BUILT,
      },
      {
        name: 'repository',
        label: 'Repository',
        hint: 'The URL of the git repository, HTTPS or SSH',
        effect: NEXT,
        kinds: BUILT,
        applies: fromRepository,
      },
      {
        name: 'branch',
        label: 'Branch',
        hint: 'The branch, tag or commit that is deployed',
        effect: NEXT,
        kinds: BUILT,
        applies: isBuilt,
      },
      {
        name: 'rootDirectory',
        label: 'Root directory',
        hint: 'The folder of the application; empty for the whole repository',
        effect: NEXT,
        kinds: BUILT,
        applies: isBuilt,
      },
      {
        name: 'image',
        label: 'Image',
        hint: 'The container image to run, such as nginx:1.27, if the source is an image',
        effect: NEXT,
        kinds: BUILT,
        applies: isImage,
      },
      {
        name: 'registryId',
        label: 'Registry',
        hint: 'The id of the private registry that holds the image',
        effect: NEXT,
        kinds: BUILT,
        applies: isImage,
      },
      {
        name: 'autoDeploy',
        label: 'Auto-deploy',
        hint: 'Deploy each new commit of the branch',
        kinds: BUILT,
        applies: fromRepository,
      },
      {
        name: 'includePaths',
        label: 'Build filter: included paths',
        hint: 'Deploy only commits that change one of these paths; one pattern per line',
        kinds: BUILT,
        applies: fromRepository,
      },
      {
        name: 'ignorePaths',
        label: 'Build filter: ignored paths',
        hint: 'Do not deploy commits that change only these paths; one pattern per line',
        kinds: BUILT,
        applies: fromRepository,
      },
    ],
  },
  {
    title: 'Build and deploy',
    fields: [
      {
        name: 'runtime',
        label: 'Runtime',
        hint: 'The language of the application',
        effect: NEXT,
        kinds: BUILT,
      },
      {
        name: 'buildMethod',
        label: 'Build method',
        hint: 'How the source becomes an image or a static site',
        effect: NEXT,
        kinds: BUILT,
      },
      {
        name: 'buildCommand',
        label: 'Build command',
        hint: 'Builds the application; empty: detected from the repository',
        effect: NEXT,
        kinds: BUILT,
        applies: isBuilt,
      },
      {
        name: 'preDeployCommand',
        label: 'Pre-deploy command',
        hint: 'Runs before each release, for example a database migration',
        effect: NEXT,
        kinds: RUNNING,
      },
      {
        name: 'startCommand',
        label: 'Start command',
        hint: 'Starts the application; empty: detected from the repository',
        effect: NEXT,
        kinds: RUNNING,
      },
      {
        name: 'startArguments',
        label: 'Arguments of the image',
        hint: "Given to the image's ENTRYPOINT in place of its CMD; one per line. The start command takes precedence",
        effect: NEXT,
        kinds: RUNNING,
        applies: (values) => isImage(values) || withDockerfile(values),
      },
      {
        name: 'publishDirectory',
        label: 'Publish directory',
        hint: 'The folder with the files of a static site',
        effect: NEXT,
        kinds: PUBLIC,
      },
      {
        name: 'dockerfilePath',
        label: 'Dockerfile path',
        hint: 'The path of the Dockerfile, from the root directory',
        effect: NEXT,
        kinds: BUILT,
        applies: withDockerfile,
      },
      {
        name: 'dockerfileText',
        label: 'Dockerfile',
        hint: 'A Dockerfile in place of one of the repository',
        effect: NEXT,
        kinds: BUILT,
        applies: withDockerfile,
      },
      {
        name: 'dockerContext',
        label: 'Docker build context',
        hint: 'The build context of the Dockerfile, from the root directory',
        effect: NEXT,
        kinds: BUILT,
        applies: withDockerfile,
      },
      {
        name: 'dockerfileTarget',
        label: 'Dockerfile stage',
        hint: 'The stage that is built; empty: the last one',
        effect: NEXT,
        kinds: BUILT,
        applies: withDockerfile,
      },
    ],
  },
  {
    title: 'Scaling and health',
    fields: [
      { name: 'plan', label: 'Plan', hint: 'CPU and memory of each replica', effect: NEXT },
      { name: 'region', label: 'Region', hint: 'Where the service runs', effect: NEXT },
      {
        name: 'replicas',
        label: 'Replicas',
        hint: 'The number of running copies, with manual scaling',
        kinds: SCALED,
        applies: (values) => !scalesItself(values),
      },
      {
        name: 'scaling',
        label: 'Scaling',
        hint: 'Manual keeps the number of replicas; automatic follows CPU and memory usage',
        kinds: SCALED,
      },
      {
        name: 'minReplicas',
        label: 'Minimum replicas',
        hint: 'Automatic scaling never goes below this; with 0 a web service sleeps while it has no visitors',
        kinds: SCALED,
        applies: scalesItself,
      },
      {
        name: 'maxReplicas',
        label: 'Maximum replicas',
        hint: 'Automatic scaling never goes above this',
        kinds: SCALED,
        applies: scalesItself,
      },
      {
        name: 'targetCpu',
        label: 'Target CPU',
        hint: 'Automatic scaling aims at this average, in per cent of the plan',
        kinds: SCALED,
        applies: scalesItself,
      },
      {
        name: 'targetMemory',
        label: 'Target memory',
        hint: 'Automatic scaling aims at this average, in per cent of the plan',
        kinds: SCALED,
        applies: scalesItself,
      },
      {
        name: 'healthCheckPath',
        label: 'Health check path',
        hint: 'A path that answers with status 200 when the service is healthy, such as /health',
        effect: NEXT,
        kinds: SERVING,
      },
      {
        name: 'port',
        label: 'Port',
        hint: 'The port on which the application listens, which is also in its variable PORT',
        effect: NEXT,
        kinds: ['web', 'private'],
      },
      {
        name: 'privateNetworking',
        label: 'Private networking',
        hint: 'Services of the same environment reach each other by their internal host names',
        effect: NEXT,
        kinds: RUNNING,
      },
    ],
  },
  {
    title: 'Schedule',
    fields: [
      {
        name: 'schedule',
        label: 'Schedule',
        hint: 'A cron expression: minute, hour, day, month, weekday',
        kinds: ['cron'],
      },
      {
        name: 'timezone',
        label: 'Time zone',
        hint: 'The time zone of the schedule, such as Europe/Berlin',
        kinds: ['cron'],
      },
      {
        name: 'timeoutSeconds',
        label: 'Timeout',
        hint: 'A run is stopped after this many seconds',
        effect: NEXT,
        kinds: ['cron'],
      },
      {
        name: 'maxRetries',
        label: 'Retries',
        hint: 'How often a failed run is tried again',
        effect: NEXT,
        kinds: ['cron'],
      },
      {
        name: 'maxConcurrency',
        label: 'Concurrency',
        hint: 'How many runs may be active at the same time',
        kinds: ['cron'],
      },
    ],
  },
  {
    title: 'Networking',
    fields: [
      {
        name: 'maintenance',
        label: 'Maintenance mode',
        hint: 'Visitors see the maintenance page instead of the service',
        kinds: PUBLIC,
      },
      {
        name: 'maintenancePage',
        label: 'Maintenance page',
        hint: 'The HTML of the maintenance page; empty for the default page',
        kinds: PUBLIC,
        applies: ({ maintenance }) => maintenance === true,
      },
      {
        name: 'ipAllowList',
        label: 'IP allow list',
        hint: 'Only these addresses and CIDR ranges may visit; one per line, empty allows all',
        kinds: PUBLIC,
      },
      {
        name: 'platformDomainEnabled',
        label: 'Platform domain',
        hint: 'Turn it off to serve only your custom domains',
        kinds: PUBLIC,
      },
      {
        name: 'cacheProfile',
        label: 'Caching',
        hint: 'Which files of a static site browsers may cache',
        effect: NEXT,
        kinds: PUBLIC,
      },
      {
        name: 'previewMode',
        label: 'Previews',
        hint: 'Run other branches at their own URLs: by hand, or for each pushed branch',
        kinds: PUBLIC,
      },
      {
        name: 'previewDatabases',
        label: 'Databases of previews',
        hint: 'Own ones begin with the latest verified backup and are deleted with the preview',
        effect: NEXT,
        kinds: PUBLIC,
        applies: hasPreviews,
      },
      {
        name: 'previewExpiryHours',
        label: 'Preview expiry',
        hint: 'A preview is deleted this many hours after its last deployment',
        kinds: PUBLIC,
        applies: hasPreviews,
      },
    ],
  },
  {
    title: 'Database',
    fields: [
      {
        name: 'databaseVersion',
        label: 'PostgreSQL version',
        hint: 'The major version; it cannot change once there is data',
        effect: NEXT,
        kinds: ['postgres'],
      },
      {
        name: 'databaseName',
        label: 'Database name',
        hint: 'Empty: derived from the name of the service. It cannot change once there is data',
        effect: NEXT,
        kinds: ['postgres'],
      },
      {
        name: 'databaseUser',
        label: 'Database user',
        hint: 'Empty: derived from the name of the service. It cannot change once there is data',
        effect: NEXT,
        kinds: ['postgres'],
      },
      {
        name: 'evictionPolicy',
        label: 'Eviction policy',
        hint: 'Which keys are removed when the memory is full',
        effect: NEXT,
        kinds: ['redis'],
      },
    ],
  },
  {
    title: 'Backups',
    fields: [
      {
        name: 'backupEnabled',
        label: 'Daily backups',
        hint: 'Make a verified backup of the database or of the volumes each day',
        kinds: BACKED_UP,
      },
      {
        name: 'backupRetentionDays',
        label: 'Backup retention',
        hint: 'Days until a backup is deleted, at most those of the plan',
        kinds: BACKED_UP,
        applies: ({ backupEnabled }) => backupEnabled === true,
      },
    ],
  },
  {
    title: 'General',
    fields: [
      { name: 'description', label: 'Description', hint: 'Shown to members of the workspace' },
      {
        name: 'notifications',
        label: 'Deployment e-mails',
        hint: 'Which deployments send an e-mail',
      },
    ],
  },
];

/** Returns the fields, by group, that apply to this kind of service in this installation. */
export function fieldGroups(kind: Service['kind'], capabilities: Readonly<Record<string, boolean>>): FieldGroup[] {
  return GROUPS.map(({ title, fields }) => ({
    title,
    fields: fields.filter(
      ({ name, kinds }) => (kinds === undefined || kinds.includes(kind)) && capabilities[NEEDS[name] ?? ''] !== false,
    ),
  })).filter(({ fields }) => fields.length > 0);
}

/** Returns true if one of the changed fields takes effect only with the next deployment. */
export function needsDeployment(names: readonly string[]): boolean {
  return GROUPS.some(({ fields }) => fields.some(({ name, effect }) => effect === NEXT && names.includes(name)));
}
