import { PLANS } from '../../shared/services/plan-catalog.js';
import type { FailureFacts, KnownFailure } from './known-failure.js';
import { LANGUAGE_FAILURES } from './language-failures.js';

const VARIABLE = '\\b([A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,60})';

/** Specific failures come first, because the first match is used. */
export const KNOWN_FAILURES: readonly KnownFailure[] = [
  {
    name: 'memory of the JavaScript heap',
    shows: /JavaScript heap out of memory|Reached heap limit|Array buffer allocation failed/,
    advice: (_, facts) =>
      `JavaScript ran out of memory: its heap may use three quarters of ${facts.memoryMb} MB. ${nextPlan(facts)}`,
  },
  {
    name: 'disk is full',
    shows: /ENOSPC|No space left on device/i,
    advice: () =>
      'The disk is full. Install and build less, or ask the operator of this installation for more disk space.',
  },
  {
    name: 'lock file out of sync',
    shows:
      /can only install packages when your package\.json and (\S{1,40})|(ERR_PNPM_OUTDATED_LOCKFILE|ERR_PNPM_LOCKFILE_CONFIG_MISMATCH|ERR_PNPM_FROZEN_LOCKFILE)|Your lockfile needs to be updated|YN0028|lockfile had changes, but lockfile is frozen/,
    advice: () =>
      'The lock file does not match package.json. Run the install command of your package manager (such as "npm install") on your machine, and commit the updated lock file.',
  },
  {
    name: 'lock file is missing',
    shows: /npm ci` command can only install with an existing|ERR_PNPM_NO_LOCKFILE/,
    advice: () =>
      'The install command needs a lock file, but the folder has none. Commit the lock file of your package manager, or use an install command that does not need one, such as "npm install".',
  },
  {
    name: 'lock file does not fit what was downloaded',
    shows: /EINTEGRITY|YN0018|Integrity check failed|ERR_PNPM_TARBALL_INTEGRITY/,
    advice: () =>
      'A downloaded package does not match its checksum in the lock file. Clear the build cache and deploy; if that fails too, create the lock file again and commit it.',
  },
  {
    name: 'peer dependencies conflict',
    shows: /ERESOLVE|ERR_PNPM_PEER_DEP_ISSUES|unable to resolve dependency tree/,
    advice: () =>
      'Two dependencies need different versions of the same package. Correct the versions in package.json, or commit an .npmrc with the line "legacy-peer-deps=true".',
  },
  {
    name: 'wrong Node.js',
    shows:
      /The engine "node" is incompatible|EBADENGINE|ERR_PNPM_UNSUPPORTED_ENGINE|You are using Node\.js [^ ]{1,20} For|requires (?:at least )?Node(?:\.js)?(?: version)? |Unsupported Node\.js version|Node\.js version \S{1,30} is required|Node\.js v\S{1,20} is not supported/i,
    advice: () =>
      'The project or a dependency needs another version of Node.js. Set the version in package.json, such as "engines": { "node": "22.x" }, or in .nvmrc, and deploy again.',
  },
  {
    name: 'hash functions that new OpenSSL refuses',
    shows: /ERR_OSSL_EVP_UNSUPPORTED|digital envelope routines::unsupported/,
    advice: () =>
      'The bundler of this project is too old for the OpenSSL of this Node.js. Update the bundler, or set the variable NODE_OPTIONS to --openssl-legacy-provider.',
  },
  {
    name: 'private dependency',
    shows:
      /code E40[13]\b|ERR_PNPM_FETCH_40[134]|(?:npm (?:err!|error) 404|YN0035).{0,200}@[\w-]{1,60}\/|is not in this registry|Permission denied \(publickey\)|could not read Username for|Host key verification failed|Couldn't find package "@/i,
    advice: () =>
      // biome-ignore lint/suspicious/noTemplateCurlyInString: npm replaces ${NPM_TOKEN}, so this file must not.
      'A dependency does not exist, or it is private and the build has no access to it. Check its name, or commit an .npmrc that reads a token from a variable, such as //registry.example.com/:_authToken=${NPM_TOKEN}, and set that variable for the service.',
  },
  {
    name: 'version that does not exist',
    shows:
      /code ETARGET\b|notarget No matching version|ERR_PNPM_NO_MATCHING_VERSION|Couldn't find any versions for|YN0082/,
    advice: () =>
      'The package registry has no version of a dependency that package.json accepts. Correct the version in package.json, and commit it with the updated lock file.',
  },
  {
    name: 'native module without compiler',
    shows:
      /gyp ERR! (?:find Python|stack Error: not found: make|stack Error: `make`|not ok)|(?:g\+\+|\bmake|\bcc): (?:command )?not found|node-gyp: not found/,
    advice: () =>
      'A dependency contains native code, has no prebuilt binary for this Node.js, and could not be compiled. Use a version with prebuilt binaries, or ask the operator to install python3, make and g++ on the host.',
  },
  ...LANGUAGE_FAILURES,
  {
    name: 'warnings count as errors',
    shows: /Treating warnings as errors because process\.env\.CI/,
    advice: () =>
      'The build tool treats warnings as errors because the variable CI is set. Fix the warnings, or set buildCommand to "CI=false npm run build".',
  },
  {
    name: 'Git LFS',
    shows: /version https:\/\/git-lfs\.github\.com|token '?v'?.{0,40}"version ht|git-lfs: (?:command )?not found/i,
    advice: () =>
      'A file is stored in Git LFS, which is not supported, so the build only has a pointer to it. Commit the file to git itself, or download it in the build.',
  },
  {
    name: 'submodules',
    shows: /ENOENT|No such file or directory|Cannot find module|Could not resolve|Can't resolve|not found/i,
    when: ({ hasSubmodules }) => hasSubmodules === true,
    advice: () =>
      'A file is missing, probably because git submodules are not checked out. Copy the files of the submodule into the repository, or use it as a package.',
  },
  {
    name: 'history of git',
    shows: /fatal: not a git repository/,
    phase: 'build',
    advice: () =>
      'A build command uses git, but a build has only the files of the commit and no .git folder. Change the command so that it works without git.',
  },
  {
    name: 'file of variables',
    shows: /(?:ENOENT.{0,200}['"/]|^node: )(\.env[\w.]{0,30})(?:['"]|: not found|$)/,
    advice: ([, file]) =>
      `The file ${file} is not in the repository. Set its variables for the service, and change the command so that it does not need the file.`,
  },
  {
    name: 'Prisma client was not generated',
    shows: /@prisma\/client did not initialize yet/,
    advice: () =>
      'The Prisma client was not generated. Run "prisma generate" at the start of the build script in package.json, and deploy again.',
  },
  {
    name: 'database cannot be reached',
    shows:
      /Can't reach database server|(?:ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN).{0,80}(?::(?:5432|3306|6379|27017|1433)\b|\b(?:db|database|postgres|mysql|redis|mongo)\b)|MongooseServerSelectionError|SequelizeConnection\w{0,30}Error|\bP1001\b|failed to connect to .{0,40}database/i,
    advice: (_, { phase }) =>
      phase === 'build'
        ? 'The build tried to reach a database, and none answered. Run migrations in preDeployCommand instead of in the build, and set the address of the database as a variable.'
        : 'The application could not reach its database or cache. Set the address as a variable, such as DATABASE_URL, and check that the database is running.',
  },
  {
    name: 'missing variable',
    shows: new RegExp(
      `[Ee]nvironment variables? not found: ${VARIABLE}|` +
        `${VARIABLE}["'\`]? (?:environment variable |env var |variable )?(?:is |was )?` +
        '(?:not set|required|missing|undefined|not defined|empty|must be set|must be defined)|' +
        `[Mm]issing (?:required )?(?:environment variable|env(?:ironment)? var(?:iable)?)s?:? ?["'\`]?${VARIABLE}?|` +
        'Invalid env(?:ironment)?(?: variables?)?\\b',
    ),
    advice: ([, one, two, three]) => {
      const name = one ?? two ?? three;
      const what = name === undefined ? 'A variable that the project needs is' : `The variable ${name} is`;
      return `${what} not set for this service. Add it to the variables of the service or of a linked environment group, and deploy again.`;
    },
  },
  {
    name: 'port that is not its own',
    shows: /listen EACCES|bind.{0,60}(?:permission denied|EACCES)/i,
    phase: 'start',
    advice: () =>
      'The application is not allowed to listen on the port that it chose. Make it listen on the port in the variable PORT.',
  },
  {
    name: 'port in use',
    shows: /(?:EADDRINUSE|address already in use)(?:.{0,80}?:(\d{2,5})(?!\d))?/i,
    advice: ([, port], { phase }) =>
      phase === 'build'
        ? 'A build command tried to listen on a port that is in use. Do not start a server in the build; start the application in startCommand.'
        : `The application tried to listen on ${port === undefined ? 'a port' : `port ${port}`}, which is in use, probably by the release that is serving now. Make it listen once, on the port in the variable PORT.`,
  },
  {
    name: 'file is not executable',
    shows: /(?:sh|bash): (?:\d{1,6}: |line \d{1,6}: )?(\S{1,150}): Permission denied/,
    advice: ([, file]) =>
      `The file ${file} is not executable. Run "git update-index --chmod=+x ${file}", and commit the change.`,
  },
  {
    name: 'folder is not writable',
    shows:
      /(?:EACCES|EROFS|EPERM): .{0,80}(?:mkdir|open|unlink|rename|scandir|copyfile|symlink)(?: '([^']{1,200})')?|Read-only file system/,
    advice: ([, path]) =>
      `The command has no permission to write ${path === undefined ? 'there' : `to ${path}`}. Make it write to the folder of the application, or to the folder in the variable TMPDIR.`,
  },
  {
    name: 'case of a path',
    shows: /differs? from already included file name .{0,200} only in casing|TS(?:1149|1261)\b|differs only in casing/,
    advice: () =>
      'Two imports spell the name of one file with different upper and lower case, which are different files on Linux. Spell the name in each import exactly as the file is named, and commit the change.',
  },
  {
    name: 'file of the project is missing',
    shows:
      /(?:Cannot find module|Can't resolve|Could not resolve|Cannot resolve|ailed to resolve import) ['"]((?:\.{1,2}\/|@\/|~\/|\/mnt\/app\/|\/app\/|src\/)[^'"]{0,200})['"]/,
    advice: ([, path = '']) =>
      /^\/(mnt\/)?app\//.test(path)
        ? `The file ${path.replace(/^\/(mnt\/)?app\//, '')} does not exist after the build. Check that the build writes it, and that startCommand spells its path exactly so, including upper and lower case.`
        : `The imported file "${path}" does not exist. Check that it is committed, and that the import has the same upper and lower case as the file name.`,
  },
  {
    name: 'module format',
    shows:
      /ERR_REQUIRE_ESM|Cannot use import statement outside a module|(?:require|module|exports|__dirname|__filename) is not defined in ES module scope|ERR_UNKNOWN_FILE_EXTENSION|does not provide an export named|To load an ES module|ERR_UNSUPPORTED_DIR_IMPORT/,
    advice: () =>
      'ES modules and CommonJS are mixed, or TypeScript was started without compiling it. Set "type" in package.json, or name the files .mjs or .cjs, and start the compiled files.',
  },
  {
    name: 'module is no dependency',
    shows:
      /(?:Cannot find (?:module|package)|Can't resolve|Could not resolve|ailed to resolve import) ['"]((?:@[\w.-]{1,80}\/)?[a-z0-9][\w.-]{0,80})(?:\/[^'"]{0,120})?['"]/,
    advice: ([, name]) =>
      `The package ${name} is not installed. Add it to the dependencies in package.json, and commit it with the updated lock file.`,
  },
  {
    name: 'type errors',
    shows:
      /\berror TS\d{1,5}:|^Type error:|Failed to type check|TypeScript: \d{1,5} errors?|Found \d{1,6} errors?(?: in|\.)/,
    phase: 'build',
    advice: () =>
      'TypeScript reported errors, or the types of a dependency are not installed. Run the same build on your machine, fix the errors, and add missing @types packages to package.json.',
  },
  {
    name: 'missing script',
    shows:
      /Missing script: ?"?([\w:.-]{1,60})|ERR_PNPM_NO_SCRIPT\S{0,20}\s+Missing script(?: or file)?:? ?(\S{1,60})|Command "(start|build)" not found|Couldn't find a script named "([\w:.-]{1,60})"|Script not found "([\w:.-]{1,60})"/,
    advice: (found) => {
      const name = found.slice(1).find((group) => group !== undefined) ?? 'start';
      const setting = name === 'build' ? 'buildCommand' : 'startCommand';
      return `package.json has no script "${name}". Add the script, set ${setting} to another command, or set rootDirectory to the folder of the application.`;
    },
  },
  {
    name: 'wrong rootDirectory',
    shows:
      /Could not read package\.json|ENOENT.{0,80}package\.json|No package\.json was found|Couldn't find a package\.json|ERR_PNPM_NO_PKG_MANIFEST/,
    advice: () =>
      'There is no package.json in the folder where the command ran. Set rootDirectory to the folder of the application.',
  },
  {
    name: 'development server',
    phase: 'start',
    shows:
      /^\[nodemon\]|nodemon: not found|(?:^|\s)VITE v\d|webpack-dev-server|\[webpack-dev-server\]|react-scripts start|Angular Live Development Server|ts-node-dev ver/i,
    advice: () =>
      'The start command runs a development server, which is not meant for production. Set startCommand to the command that serves the built application, or deploy it as a static site.',
  },
  {
    name: 'command is not installed',
    shows:
      /(?:sh|bash|env): (?:\d{1,6}: |line \d{1,6}: )?['‘]?([\w@./+-]{1,80})['’]?: (?:command )?(?:not found|No such file or directory)/,
    advice: ([, name]) =>
      `The command ${name} is not installed. Add the package that provides it to the dependencies of the project, or correct the command.`,
  },
  {
    name: 'registry is away',
    shows:
      /(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ERR_PNPM_META_FETCH_FAIL|FailedToOpenSocket|Failed to fetch .{1,80} from Google Fonts|Inlining of fonts failed)/,
    phase: 'build',
    advice: () =>
      'The build could not reach a server on the network. Deploy again; if it fails again, check the name of the server, and ask the operator whether the host can reach it.',
  },
];

function nextPlan(facts: FailureFacts): string {
  const larger = PLANS.find((plan) => plan.memoryMb > facts.memoryMb);
  if (larger === undefined) return 'Reduce its memory use: no plan has more.';
  return `Choose the plan ${larger.id} with ${larger.memoryMb} MB, or reduce the memory use.`;
}
