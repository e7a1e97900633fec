import { PLANS } from '../../shared/services/catalog.js';
import type { FailureFacts, KnownFailure } from './known-failure.js';
import { LANGUAGE_FAILURES } from './language-failures.js';

const VARIABLE = '\\b([A-Z][A-Z0-9]{0,40}_[A-Z0-9_]{1,60})';

/** Specific failures first. */
export const KNOWN_FAILURES: readonly KnownFailure[] = [
  {
    name: 'memory of the JavaScript heap',
    shows: /JavaScript heap out of memory|Reached heap limit|Array buffer allocation failed/,
    advice: (_, facts) =>
      `JavaScript used all the memory that its heap may have of the ${facts.memoryMb} MB of the plan. ${nextPlan(facts)}`,
  },
  {
    name: 'disk is full',
    shows: /ENOSPC|No space left on device/i,
    advice: () =>
      'There was no space left on the disk. Make what is installed and built smaller, or tell the operator of this installation.',
  },
  {
    name: 'lock file out of sync',
    shows:
      /can only install packages when your package\.json and (\S{1,40})|(ERR_PNPM_OUTDATED_LOCKFILE|ERR_PNPM_LOCKFILE_CONFIG_MISMATCH|ERR_PNPM_FROZEN_LOCKFILE)|Your lockfile needs to be updated|YN0028|lockfile had changes, but lockfile is frozen/,
    advice: () =>
      'The lock file does not match package.json. Run the installation of your package manager on your machine, and commit the lock file that it writes.',
  },
  {
    name: 'lock file is missing',
    shows: /npm ci` command can only install with an existing|ERR_PNPM_NO_LOCKFILE/,
    advice: () =>
      'The installation needs a lock file, and the folder has none. Commit the lock file of your package manager, or use its plain installation such as "npm install".',
  },
  {
    name: 'lock file does not fit what was downloaded',
    shows: /EINTEGRITY|YN0018|Integrity check failed|ERR_PNPM_TARBALL_INTEGRITY/,
    advice: () =>
      'The registry delivered a package that differs from the one in the lock file. Deploy with an empty cache; if that fails too, write the lock file anew and commit it.',
  },
  {
    name: 'peer dependencies conflict',
    shows: /ERESOLVE|ERR_PNPM_PEER_DEP_ISSUES|unable to resolve dependency tree/,
    advice: () =>
      'Two dependencies ask for different versions of a third one. Correct the versions in package.json, or commit an .npmrc with the line "legacy-peer-deps=true".',
  },
  {
    name: 'wrong Node.js',
    shows:
      /The engine "node" is incompatible|EBADENGINE|ERR_PNPM_UNSUPPORTED_ENGINE|You are using Node\.js [^ ]{1,20} For|requires (?:at least )?Node(?:\.js)?(?: version)? |Unsupported Node\.js version|Node\.js version \S{1,30} is required|Node\.js v\S{1,20} is not supported/i,
    advice: () =>
      'The project or a dependency needs another version of Node.js. Name it in package.json as "engines": { "node": "22.x" }, or in a file .nvmrc, and deploy again.',
  },
  {
    name: 'hash functions that new OpenSSL refuses',
    shows: /ERR_OSSL_EVP_UNSUPPORTED|digital envelope routines::unsupported/,
    advice: () =>
      'A bundler of this project is older than the OpenSSL of its Node.js. Update the bundler, or set the variable NODE_OPTIONS to --openssl-legacy-provider.',
  },
  {
    name: 'private dependency',
    shows:
      /code E40[13]\b|ERR_PNPM_FETCH_40[134]|(?:npm (?:err!|error) 404|YN0035).{0,200}@[\w-]{1,60}\/|is not in this registry|Permission denied \(publickey\)|could not read Username for|Host key verification failed|Couldn't find package "@/i,
    advice: () =>
      // biome-ignore lint/suspicious/noTemplateCurlyInString: npm replaces it, not this file.
      'A dependency is private or does not exist, and the build has no access to it. Commit an .npmrc that reads a token from a variable, such as //registry.example.com/:_authToken=${NPM_TOKEN}, and set that variable for the service.',
  },
  {
    name: 'version that does not exist',
    shows:
      /code ETARGET\b|notarget No matching version|ERR_PNPM_NO_MATCHING_VERSION|Couldn't find any versions for|YN0082/,
    advice: () =>
      'The package registry has no version of a dependency that the project accepts. Correct the version in package.json, or commit a lock file with versions that exist.',
  },
  {
    name: 'native module without compiler',
    shows:
      /gyp ERR! (?:find Python|stack Error: not found: make|stack Error: `make`|not ok)|(?:g\+\+|\bmake|\bcc): (?:command )?not found|node-gyp: not found/,
    advice: () =>
      'A dependency has native code with no binary for this platform and version of Node.js, and compiling it failed. Use a version of it that ships binaries for this Node.js, or have the operator install python3, make and g++ on the host.',
  },
  ...LANGUAGE_FAILURES,
  {
    name: 'warnings count as errors',
    shows: /Treating warnings as errors because process\.env\.CI/,
    advice: () =>
      'The build tool treats warnings as errors because the variable CI is set. Correct the warnings, or set buildCommand to "CI=false npm run build".',
  },
  {
    name: 'Git LFS',
    shows: /version https:\/\/git-lfs\.github\.com|token '?v'?.{0,40}"version ht|git-lfs: (?:command )?not found/i,
    advice: () =>
      'A file of the repository is only a pointer of Git LFS, and its content is not part of the checkout. Keep files that the build needs in git itself, or let the build download them.',
  },
  {
    name: 'submodules',
    shows: /ENOENT|No such file or directory|Cannot find module|Could not resolve|Can't resolve|not found/i,
    when: ({ hasSubmodules }) => hasSubmodules === true,
    advice: () =>
      'A file is missing, and the repository has submodules, which are not checked out. Copy what the build needs into the repository, or depend on it as a package.',
  },
  {
    name: 'history of git',
    shows: /fatal: not a git repository/,
    phase: 'build',
    advice: () =>
      'A command asks git about the repository, and a build has only the files of its commit. Let the command do without git if there is no folder .git.',
  },
  {
    name: 'file of variables',
    shows: /(?:ENOENT.{0,200}['"/]|^node: )(\.env[\w.]{0,30})(?:['"]|: not found|$)/,
    advice: ([, file]) =>
      `The file ${file} is not in the repository. Set its variables for the service, and let the application start without the file.`,
  },
  {
    name: 'Prisma client was not generated',
    shows: /@prisma\/client did not initialize yet/,
    advice: () =>
      'The client of Prisma was not generated. Put "prisma generate" before the build in the build script of package.json, and deploy again.',
  },
  {
    name: 'database cannot be reached',
    shows:
      /Can't reach database server|(?:ECONNREFUSED|ENOTFOUND|ETIMEDOUT|EAI_AGAIN).{0,80}(?::(?:5432|3306|6379|27017|1433)\b|\b(?:db|database|postgres|mysql|redis|mongo)\b)|MongooseServerSelectionError|SequelizeConnection\w{0,30}Error|\bP1001\b|failed to connect to .{0,40}database/i,
    advice: (_, { phase }) =>
      phase === 'build'
        ? 'The build needs a database, and none answered. Run migrations in preDeployCommand and not in the build, and set the address of the database as a variable.'
        : 'The application needs a database or cache, and none answered at the address that it has. Set the address as a variable, such as DATABASE_URL, and check that the service of the database runs.',
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
      return `${what} not set for this service. Add it under the variables of the service or its environment group, and deploy again.`;
    },
  },
  {
    name: 'port that is not its own',
    shows: /listen EACCES|bind.{0,60}(?:permission denied|EACCES)/i,
    phase: 'start',
    advice: () =>
      'The application may not listen on the port that it tried. Let it listen on the port that the variable PORT names.',
  },
  {
    name: 'port in use',
    shows: /(?:EADDRINUSE|address already in use)(?:.{0,80}?:(\d{2,5})(?!\d))?/i,
    advice: ([, port], { phase }) =>
      phase === 'build'
        ? 'A command of the build listens on a port that is in use. Do not start servers in the build, and start the application in startCommand.'
        : `The application ignores the variable PORT or starts twice: it listens on ${port === undefined ? 'a port' : `port ${port}`}, which is in use, for instance by its own release that serves visitors now. Let it listen once, on the port that PORT names.`,
  },
  {
    name: 'file is not executable',
    shows: /(?:sh|bash): (?:\d{1,6}: |line \d{1,6}: )?(\S{1,150}): Permission denied/,
    advice: ([, file]) =>
      `The file ${file} may not be executed. Run "git update-index --chmod=+x" for it, and commit the change.`,
  },
  {
    name: 'folder is not writable',
    shows:
      /(?:EACCES|EROFS|EPERM): .{0,80}(?:mkdir|open|unlink|rename|scandir|copyfile|symlink)(?: '([^']{1,200})')?|Read-only file system/,
    advice: ([, path]) =>
      `The command may not write ${path === undefined ? 'where it tried to' : `to ${path}`}. Let it write below its own folder or to the folder that the variable TMPDIR names.`,
  },
  {
    name: 'case of a path',
    shows: /differs? from already included file name .{0,200} only in casing|TS(?:1149|1261)\b|differs only in casing/,
    advice: () =>
      'Two imports write the name of one file with different upper and lower case, which are different files here. Write the name in each import as the file is named, and commit it.',
  },
  {
    name: 'file of the project is missing',
    shows:
      /(?:Cannot find module|Can't resolve|Could not resolve|Cannot resolve|ailed to resolve import) ['"]((?:\.{1,2}\/|@\/|~\/|\/mnt\/app\/|\/app\/|src\/)[^'"]{0,200})['"]/,
    advice: ([, path = '']) =>
      /^\/(mnt\/)?app\//.test(path)
        ? `The file ${path.replace(/^\/(mnt\/)?app\//, '')} does not exist after the build. Check that the build writes it there, that startCommand names it, and that upper and lower case are right.`
        : `The file "${path}" that is imported does not exist. Check that it is committed, and that the import has the same upper and lower case as its name: here they make a difference.`,
  },
  {
    name: 'module format',
    shows:
      /ERR_REQUIRE_ESM|Cannot use import statement outside a module|(?:require|module|exports|__dirname|__filename) is not defined in ES module scope|ERR_UNKNOWN_FILE_EXTENSION|does not provide an export named|To load an ES module|ERR_UNSUPPORTED_DIR_IMPORT/,
    advice: () =>
      'A file is loaded as the wrong kind of module: ES modules and CommonJS are mixed, or TypeScript was not compiled. Set "type" in package.json to what the files are, or name them .mjs or .cjs, and start what the build wrote.',
  },
  {
    name: 'module is no dependency',
    shows:
      /(?:Cannot find (?:module|package)|Can't resolve|Could not resolve|ailed to resolve import) ['"]((?:@[\w.-]{1,80}\/)?[a-z0-9][\w.-]{0,80})(?:\/[^'"]{0,120})?['"]/,
    advice: ([, name]) =>
      `The package ${name} is not installed. Add it to the dependencies in package.json, and commit that with the lock file.`,
  },
  {
    name: 'type errors',
    shows:
      /\berror TS\d{1,5}:|^Type error:|Failed to type check|TypeScript: \d{1,5} errors?|Found \d{1,6} errors?(?: in|\.)/,
    phase: 'build',
    advice: () =>
      'TypeScript found errors in the sources, or the types of a dependency are missing. Run the same build on your machine, correct what it lists, and commit it with all packages of types in package.json.',
  },
  {
    name: 'missing script',
    shows:
      /Missing script: ?"?([\w:.-]{1,60})|ERR_PNPM_NO_SCRIPT\S{0,20}\s+Missing script(?: or file)?:? ?(\S{1,60})|Command "(start|build)" not found|Couldn't find a script named "([\w:.-]{1,60})"|Script not found "([\w:.-]{1,60})"/,
    advice: (found) => {
      const name = found.slice(1).find((group) => group !== undefined) ?? 'start';
      const setting = name === 'build' ? 'buildCommand' : 'startCommand';
      return `package.json has no script "${name}". Add it, set ${setting} to another command, or set rootDirectory if the application is in another folder.`;
    },
  },
  {
    name: 'wrong rootDirectory',
    shows:
      /Could not read package\.json|ENOENT.{0,80}package\.json|No package\.json was found|Couldn't find a package\.json|ERR_PNPM_NO_PKG_MANIFEST/,
    advice: () =>
      'There is no package.json in the folder in which the command ran. Set rootDirectory to the folder of the application.',
  },
  {
    name: 'development server',
    phase: 'start',
    shows:
      /^\[nodemon\]|nodemon: not found|(?:^|\s)VITE v\d|webpack-dev-server|\[webpack-dev-server\]|react-scripts start|Angular Live Development Server|ts-node-dev ver/i,
    advice: () =>
      'The start command runs a development server, which is not made for visitors. Set startCommand to what serves the built application, or deploy it as a static site.',
  },
  {
    name: 'command is not installed',
    shows:
      /(?:sh|bash|env): (?:\d{1,6}: |line \d{1,6}: )?['‘]?([\w@./+-]{1,80})['’]?: (?:command )?(?:not found|No such file or directory)/,
    advice: ([, name]) =>
      `The command ${name} is not there. Add the package that has it to the dependencies in package.json, or correct the command.`,
  },
  {
    name: 'registry is away',
    shows:
      /(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ERR_PNPM_META_FETCH_FAIL|FailedToOpenSocket|Failed to fetch .{1,80} from Google Fonts|Inlining of fonts failed)/,
    phase: 'build',
    advice: () =>
      'A server on the network did not answer the build. Deploy again; if it stays so, check the name of the server and whether the installation has a way to it.',
  },
];

function nextPlan(facts: FailureFacts): string {
  const larger = PLANS.find((plan) => plan.memoryMb > facts.memoryMb);
  if (larger === undefined) return 'Make it need less memory: no plan has more.';
  return `Choose the plan ${larger.id} with ${larger.memoryMb} MB, or make it need less memory.`;
}
