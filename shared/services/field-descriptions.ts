/** What each field of a service's configuration does, for the OpenAPI document. */
export const FIELD_DESCRIPTIONS = {
  autoDeploy: 'With commit, each new commit of the branch is deployed',
  backupEnabled: 'Make scheduled backups of a database or of volumes, and permit backups on demand',
  backupRetentionDays: 'Days for which a backup is retained; the plan can retain it for a shorter time',
  branch: 'The branch, tag or commit that is deployed, at most 255 letters, digits and . _ / # @ + -',
  buildCommand: 'The command that builds the application; empty: detected from the repository',
  buildMethod:
    'How the image is made: detected (railpack), from a Dockerfile, as a static site, or from an existing image',
  cacheProfile:
    'The Cache-Control of a static site: browsers check every file, cache files that have a hash in their name, or cache all files',
  databaseName:
    'The name of the database inside PostgreSQL; empty: derived from the service. It cannot change once there is data',
  databaseUser: 'The owner of the database; empty: derived from the service. It cannot change once there is data',
  databaseVersion: 'The major version of PostgreSQL. It cannot change once there is data',
  description: 'A text for people',
  dockerContext: 'The build context, below rootDirectory',
  dockerfilePath: 'The Dockerfile, below rootDirectory',
  dockerfileTarget: 'The stage of the Dockerfile that is built; empty: the last one',
  dockerfileText: 'A Dockerfile, in place of one of the repository; empty: that at dockerfilePath is built',
  evictionPolicy: 'What Redis evicts when its memory is full',
  healthCheckPath:
    'The path whose answer makes a replica ready; empty: a replica is ready when its port accepts connections',
  ignorePaths: 'A commit that changes only paths of these patterns is not deployed automatically',
  image: 'The image to run, such as ghcr.io/owner/name:tag, if the source is an image',
  includePaths: 'Only a commit that changes a path of these patterns is deployed automatically; empty: every commit',
  ipAllowList: 'Addresses and ranges that may visit the service; empty: everyone',
  maintenance: 'Answer visitors with the maintenance page and 503',
  maintenancePage: 'The HTML of the maintenance page, at most 65536 characters; empty: a standard page',
  maxConcurrency: 'Runs of a cron service that may run at the same time',
  maxReplicas: 'The most replicas under automatic scaling; not less than minReplicas',
  maxRetries: 'Further attempts of a run that failed',
  minReplicas:
    'The fewest replicas under automatic scaling; not more than maxReplicas. With 0 a web service sleeps while it has no visitors',
  notifications: 'Which deployments are mailed: as the workspace says, all, failures, or none',
  plan: "What each replica may use. Databases have plans of their own: see the catalog's databasePlans",
  platformDomainEnabled: 'Serve the service under its address of the platform',
  port: 'The port on which the application listens; it is also in the variable PORT',
  preDeployCommand:
    'A command that runs in the new release before it gets visitors, for example a migration of the database',
  previewDatabases:
    'Databases of previews, from the next deployment of each on: those of the service (shared), own ones that begin with the latest verified backup and are deleted with the preview, or none',
  previewExpiryHours: 'Hours without a deployment after which a preview is deleted',
  previewMode: 'Whether branches get previews: never, on request, or automatically',
  privateNetworking: 'Let other services of the same environment reach the service at its internalHost',
  publishDirectory: 'The folder with the files of a static site, below rootDirectory',
  region: 'Where the service runs',
  registryId: 'The registry of the workspace whose credentials pull the image; empty: none',
  replicas: 'Replicas under manual scaling',
  repository:
    'The address of a git repository, at most 2048 characters: https://, http://, ssh:// or git@host:owner/name.git; file: only if the installation allows it; starter:node, or starter:node@22 for a version, is an empty Node.js project, into which buildCommand installs a package. A user, password and query are stored encrypted and shown as ***',
  rootDirectory: 'The folder of the application; empty: the whole repository',
  runtime: 'The language of the application; auto: detected',
  scaling: 'Whether the number of replicas is fixed, or follows targetCpu and targetMemory',
  schedule: 'When a cron service runs: five fields, in timezone',
  sourceType: 'Whether a repository, an existing image, or what is pushed to the platform is deployed',
  startArguments:
    'Arguments of the ENTRYPOINT of an image or a Dockerfile, in place of its CMD; empty: those of CMD. startCommand takes precedence',
  startCommand: 'The command that starts the application; empty: detected',
  targetCpu: 'The average processor use of the replicas to aim for under automatic scaling, in per cent of the plan',
  targetMemory: 'The average memory use of the replicas to aim for under automatic scaling, in per cent of the plan',
  timeoutSeconds: 'Seconds after which a build or a run is ended',
  timezone: 'The time zone of schedule, by its IANA name',
} as const;
