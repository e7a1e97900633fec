import type { ProjectFiles } from '../files/project-files.js';
import { RAILS_CACHE } from '../toolchains/framework-caches.js';
import { languageWish } from '../toolchains/language-wish.js';
import { program } from '../toolchains/required-tool.js';
import { type NamedVersion, versionFile } from '../toolchains/version-files.js';
import { wishesFor } from '../toolchains/version-wish.js';
import { withAssets } from './assets.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';

/** The folder of installed gems. It is part of the image; its path is relative to the Gemfile. */
const GEMS = '.gems';
const ENTRY_FILES = ['main.rb', 'app.rb', 'server.rb'];
/** Gem of a Rack server → the command that starts the server on the port that the platform expects. */
const SERVERS: Readonly<Record<string, string>> = {
  falcon: 'falcon serve --bind http://0.0.0.0:$PORT',
  unicorn: 'unicorn -l 0.0.0.0:$PORT',
  thin: 'thin start -R config.ru -a 0.0.0.0 -p $PORT',
  iodine: 'iodine -b 0.0.0.0 -p $PORT',
};
/** Gems whose tasks build assets with the packages of package.json. */
const NODE_PIPELINES = ['jsbundling-rails', 'cssbundling-rails', 'webpacker', 'shakapacker', 'vite_rails', 'vite_ruby'];
const PIPELINES = ['sprockets-rails', 'propshaft', 'tailwindcss-rails', 'dartsass-rails', ...NODE_PIPELINES];

/** Ruby projects, recognised by a Gemfile, a config.ru, or a file that starts them. */
export const ruby: Language = {
  runtime: 'ruby',
  marks: ['Gemfile', 'config.ru'],
  reads: ['Gemfile', 'Gemfile.lock', '.ruby-version'],
  matches: (files) => ['Gemfile', 'config.ru', ...ENTRY_FILES].some((name) => files.has(name)),
  leads: (files) => files.has('config.ru') || files.has('bin/rails'),
  plan(files): LanguagePlan {
    const gems = gemsOf(files);
    const isRails = files.has('config/application.rb') || files.has('bin/rails');
    const { install, isExact } = installation(files);
    const start = startOf(files, gems, isRails);
    const plan: LanguagePlan = {
      ...EMPTY_PLAN,
      tools: install.length > 0 ? [program('bundle', 'install Bundler (Debian: apt-get install bundler)')] : [],
      versions: wishesFor(languageWish(files, 'ruby', [requiredRuby(files), versionFile(files, '.ruby-version')])),
      install,
      manifests: isExact ? ['Gemfile', 'Gemfile.lock', '.ruby-version', '.tool-versions'].filter(files.has) : null,
      dependencies: install.length > 0 ? GEMS : null,
      build: isRails ? railsBuild(files, gems) : gems.has('jekyll') ? ['bundle exec jekyll build'] : [],
      start,
      ...(isRails && start !== null ? { startProgram: withSecret(start) } : {}),
      startAdvice:
        files.has('config.ru') && start === null
          ? 'add a server for config.ru to the Gemfile ("bundle add puma", or "bundle add rackup webrick")'
          : `name the file that starts it ${ENTRY_FILES.join(', ')}, or keep a config.ru and add puma to the Gemfile`,
      environment: {
        // Without this setting, Ruby rejects templates with non-ASCII letters as invalid.
        LANG: 'C.UTF-8',
        RACK_ENV: 'production',
        APP_ENV: 'production',
        // Without this setting, each thread keeps freed memory that other threads could use.
        MALLOC_ARENA_MAX: '2',
        ...(install.length > 0 ? bundlerEnvironment(files) : {}),
        ...(isRails ? { RAILS_ENV: 'production', RAILS_LOG_TO_STDOUT: '1', RAILS_SERVE_STATIC_FILES: '1' } : {}),
      },
      buildEnvironment: {
        BUNDLE_GLOBAL_GEM_CACHE: 'true',
        ...(isRails ? RAILS_BUILD : { JEKYLL_ENV: 'production' }),
      },
      caches: { BUNDLE_USER_CACHE: 'bundler' },
      keptFolders: isRails ? [RAILS_CACHE] : [],
    };
    const isNeeded = isRails && NODE_PIPELINES.some((name) => gems.has(name));
    return withAssets(files, plan, { isNeeded, also: isRails ? ['build:css'] : [] });
  },
};

/**
 * Rails builds without its secret if SECRET_KEY_BASE_DUMMY is set; older versions need any SECRET_KEY_BASE. The other
 * variables skip steps that the scripts of package.json have already done.
 */
const RAILS_BUILD = {
  SECRET_KEY_BASE_DUMMY: '1',
  SECRET_KEY_BASE: 'of-the-build-only',
  SKIP_JS_BUILD: '1',
  SKIP_CSS_BUILD: '1',
  SKIP_YARN_INSTALL: '1',
};

function bundlerEnvironment(files: ProjectFiles): Record<string, string> {
  return {
    BUNDLE_PATH: GEMS,
    BUNDLE_WITHOUT: 'development:test',
    ...(files.has('Gemfile.lock') ? { BUNDLE_DEPLOYMENT: '1' } : {}),
    // A Bundler configuration in the repository belongs to its author's machine, and would override these variables.
    BUNDLE_APP_CONFIG: GEMS,
    // Uses the installed Bundler, not the version that wrote the lock file. BUNDLER_VERSION is for Bundler before 2.6.
    BUNDLE_VERSION: 'system',
    BUNDLER_VERSION: '2',
  };
}

/** Returns the commands that install the gems. `isExact` is true if only Gemfile and lock file determine the result. */
function installation(files: ProjectFiles): { install: string[]; isExact: boolean } {
  const gemfile = uncommented(files.text('Gemfile') ?? '');
  const lock = files.text('Gemfile.lock');
  if (!/^[ \t]*(gem|gemspec|eval_gemfile|instance_eval|eval|require_relative)\b/m.test(gemfile))
    return { install: [], isExact: false };
  const isVendored = files.has('vendor/cache');
  // Gems that were vendored on another platform may not fit, so the registry is tried next. Downloaded .gem files are
  // removed, so that the next build does not copy them.
  const install = `${isVendored ? 'bundle install --local || bundle install' : 'bundle install'} && rm -rf ${GEMS}/ruby/*/cache`;
  if (lock !== undefined && !runsHere(lock)) {
    const add = `BUNDLE_DEPLOYMENT=false bundle lock ${isVendored ? '--local ' : ''}--add-platform ${PLATFORM}`;
    return { install: [add, install], isExact: false };
  }
  const reaches = /\b(path:|:path\b|gemspec\b|eval_gemfile\b|instance_eval\b|eval\b|require_relative\b)/.test(gemfile);
  return { install: [install], isExact: lock !== undefined && !reaches };
}

const PLATFORM = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux`;

/** Returns true if the lock file was written for this platform, or for all platforms. */
function runsHere(lock: string): boolean {
  const platforms = /^PLATFORMS\n((?: {2}\S.*\n?)+)/m.exec(lock.replace(/\r/g, ''))?.[1]?.trim().split(/\s+/) ?? [];
  return platforms.length === 0 || ['ruby', PLATFORM, `${PLATFORM}-gnu`].some((name) => platforms.includes(name));
}

/**
 * Returns the names of the gems in the lock file, otherwise in the Gemfile. Adds `rackup` for a rack before version 3,
 * which contains it.
 */
function gemsOf(files: ProjectFiles): ReadonlySet<string> {
  const lock = files.text('Gemfile.lock') ?? '';
  const locked = [...lock.matchAll(/^ {4}([\w.-]+) \(([^)]*)\)/gm)];
  const named = [...uncommented(files.text('Gemfile') ?? '').matchAll(/^[ \t]*gem[ (]+["']([\w.-]+)["']/gm)];
  const names = new Set([...locked, ...(lock === '' ? named : [])].map(([, name = '']) => name));
  if (locked.some(([, name, version = '']) => name === 'rack' && /^[012]\./.test(version))) names.add('rackup');
  return names;
}

/** Returns the version of the `ruby` line. Bundler refuses every other version, even a later patch. */
function requiredRuby(files: ProjectFiles): NamedVersion | null {
  const line = /^[ \t]*ruby[ \t(]+(.{1,200})$/m
    .exec(uncommented(files.text('Gemfile') ?? ''))?.[1]
    ?.split(/,[ \t]*:?engine\b/)[0];
  if (line === undefined) return null;
  const file = /\bfile(?::|[ \t]*=>)[ \t]*["']([^"']+)["']/.exec(line)?.[1];
  if (file === '.tool-versions') return null;
  const named = file === undefined ? null : versionFile(files, file);
  const texts =
    named === null
      ? [...line.matchAll(/["']([~<>=!\s]*\d[\w.]*)["']/g)].map(([, text = '']) => text)
      : [named.text.replace(/^ruby-/, '')];
  if (texts.length === 0) return null;
  const exact = /^=?\s*(\d+(?:\.\d+){1,2})$/.exec(texts.join())?.[1];
  return {
    text: exact === undefined ? texts.join(', ') : `>=${exact} <=${exact.split('.').length < 3 ? `${exact}.0` : exact}`,
    source: 'Gemfile',
  };
}

function railsBuild(files: ProjectFiles, gems: ReadonlySet<string>): string[] {
  const hasPipeline =
    PIPELINES.some((name) => gems.has(name)) || (!files.has('Gemfile.lock') && files.has('app/assets'));
  const sources = ['app/', 'lib/'].filter((folder) => files.has(folder.slice(0, -1)));
  return [
    ...(hasPipeline ? ['bundle exec rails assets:precompile'] : []),
    ...(gems.has('bootsnap') ? [`bundle exec bootsnap precompile --gemfile ${sources.join(' ')}`.trim()] : []),
  ];
}

function startOf(files: ProjectFiles, gems: ReadonlySet<string>, isRails: boolean): string | null {
  const run = gems.size > 0 ? 'bundle exec ' : '';
  if (isRails || files.has('config.ru')) {
    if (gems.has('puma')) {
      return `bundle exec puma ${files.has('config/puma.rb') ? '-C config/puma.rb -p $PORT' : '-b tcp://0.0.0.0:$PORT'}`;
    }
    if (isRails) return 'bundle exec rails server -b 0.0.0.0 -p $PORT';
    const server = Object.keys(SERVERS).find((name) => gems.has(name));
    if (server !== undefined) return `bundle exec ${SERVERS[server]}`;
    if (gems.has('rackup')) return 'bundle exec rackup --host 0.0.0.0 --port $PORT';
  }
  const entry = ENTRY_FILES.find((name) => files.has(name));
  return entry === undefined ? null : `${run}ruby ${entry}`;
}

/** Returns a shell script that generates SECRET_KEY_BASE if no secret is set: Rails does not start without one. */
function withSecret(start: string): string {
  const keys = ['config/master.key', 'config/credentials/production.key'].map((file) => `[ ! -e ${file} ]`);
  const missing =
    'SECRET_KEY_BASE is not set: this replica makes one of its own, so that every start signs all users out, and replicas do not accept ' +
    'the sessions of each other. Set the variable SECRET_KEY_BASE to the output of "openssl rand -hex 64"; if config/credentials.yml.enc is used, ' +
    'set RAILS_MASTER_KEY to the content of config/master.key as well.';
  return [
    `if [ -z "$SECRET_KEY_BASE$RAILS_MASTER_KEY" ] && ${keys.join(' && ')}; then echo '${missing}' >&2`,
    `export SECRET_KEY_BASE="$(od -An -N64 -tx1 /dev/urandom | tr -d ' \\n')"; fi`,
    `mkdir -p tmp/pids; exec ${start}`,
  ].join('\n');
}

function uncommented(text: string): string {
  return text.replace(/\r/g, '').replace(/^[ \t]*#.*$/gm, '');
}
