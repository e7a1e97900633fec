import { recordOf } from '../files/json-values.js';
import { parsePackage } from '../files/package-manifest.js';
import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import { program } from '../toolchains/required-tool.js';
import { versionFile } from '../toolchains/version-files.js';
import { type LanguageWish, wishesFor } from '../toolchains/version-wish.js';
import { withAssets } from './assets.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';
import { phpServer } from './php-server.js';

/** Folders that a web server publishes if they contain an index.php, in order of preference. */
const ROOTS = ['public', 'web', 'webroot', 'html', 'htdocs', 'public_html', 'www', '.'];
/** With other Composer plugins, an installation is not reused, because they may change any file. */
const HARMLESS_PLUGINS = ['symfony/runtime', 'symfony/flex', 'php-http/discovery', 'pestphp/pest-plugin'];
const INSTALL = 'install --no-dev --prefer-dist --no-interaction';
const COMPOSER = program('composer', 'install Composer (Debian: apt-get install composer)');

type Manifest = Readonly<Record<string, unknown>>;

export const php: Language = {
  runtime: 'php',
  marks: ['composer.json', 'index.php'],
  reads: ['composer.json', '.php-version'],
  matches: (files) => files.has('composer.json') || rootOf(files) !== null,
  leads: (files) => ['artisan', 'bin/console'].some(files.has) || rootOf(files) !== null,
  plan(files): LanguagePlan {
    const manifest = files.has('composer.json') ? parsePackage(files.text('composer.json') ?? '', 'composer.json') : {};
    const composer = files.has('composer.phar') ? 'php composer.phar' : 'composer';
    const isInstalled = !files.has('composer.json') || files.has('vendor/autoload.php');
    const root = rootOf(files);
    const isLaravel = files.has('artisan');
    const plan: LanguagePlan = {
      ...EMPTY_PLAN,
      tools: isInstalled || composer !== 'composer' ? [] : [COMPOSER],
      versions: wishesFor(versionOf(files, manifest)),
      ...(isInstalled ? {} : installation(files, manifest, composer)),
      start: root === null ? null : `php -S 0.0.0.0:$PORT -t ${root}`,
      ...(root === null ? {} : { startProgram: `${isLaravel ? LARAVEL : ''}${phpServer(root)}` }),
      startAdvice: 'keep an index.php in the root directory or in public',
      searchPath: ['vendor/bin'],
      environment: isLaravel
        ? { APP_ENV: 'production', APP_DEBUG: 'false', LOG_CHANNEL: 'stderr' }
        : { APP_ENV: 'prod', APP_DEBUG: '0' },
      buildEnvironment: { COMPOSER_NO_INTERACTION: '1', COMPOSER_ALLOW_SUPERUSER: '1', COMPOSER_NO_AUDIT: '1' },
      caches: isInstalled ? {} : { COMPOSER_CACHE_DIR: 'composer' },
    };
    return withAssets(files, plan);
  },
};

function rootOf(files: ProjectFiles): string | null {
  if (files.has('artisan')) return 'public';
  return ROOTS.find((folder) => files.has(folder === '.' ? 'index.php' : `${folder}/index.php`)) ?? null;
}

/**
 * Returns the steps that install Composer's packages. Scripts and the class list depend on more than the manifests;
 * they are in `prepare`, which each build runs, so that the result of `install` can be reused.
 */
function installation(
  files: ProjectFiles,
  { repositories, config, extra, scripts, autoload }: Manifest,
  composer: string,
): Pick<LanguagePlan, 'install' | 'manifests' | 'dependencies' | 'prepare'> {
  const hasScript = (name: string) => recordOf(scripts)[name] !== undefined;
  const lists = ['classmap', 'psr-0'].some((name) => recordOf(autoload)[name] !== undefined);
  const dumps = lists || ['pre-autoload-dump', 'post-autoload-dump'].some(hasScript);
  const completion = [
    ...(dumps ? [`${composer} dump-autoload --no-dev --optimize --no-interaction`] : []),
    ...(hasScript('post-install-cmd') ? [`${composer} run-script --no-dev --no-interaction post-install-cmd`] : []),
  ].join(' && ');
  const settings = recordOf(config);
  const vendor = settings['vendor-dir'] !== undefined;
  const plugins = Object.entries(recordOf(settings['allow-plugins']));
  const reaches =
    vendor ||
    JSON.stringify(repositories ?? {}).includes('"path"') ||
    ['installer-paths', 'drupal-scaffold'].some((name) => recordOf(extra)[name] !== undefined) ||
    ['pre-install-cmd', 'post-package-install'].some(hasScript) ||
    plugins.some(([name, allowed]) => allowed !== false && !HARMLESS_PLUGINS.includes(name));
  const isExact = files.has('composer.lock') && !reaches;
  return {
    // With `--no-scripts`, scripts run later, in `prepare`, because they need the project's other files.
    install: [`${composer} ${INSTALL} ${isExact && completion !== '' ? '--no-scripts ' : ''}--optimize-autoloader`],
    manifests: isExact ? ['composer.json', 'composer.lock', 'symfony.lock', 'auth.json'].filter(files.has) : null,
    dependencies: vendor ? null : 'vendor',
    ...(isExact && completion !== '' ? { prepare: [completion] } : {}),
  };
}

function versionOf(files: ProjectFiles, { require }: Manifest): LanguageWish {
  const named = languageWish(files, 'php', [versionFile(files, '.php-version')]);
  const { php: range } = recordOf(require);
  if (named.wish !== null || typeof range !== 'string') return named;
  const text = range.replace(/@\w+/g, '');
  return languageWish(files, 'php', [{ text, source: 'require.php in composer.json', optional: true }]);
}

/**
 * Sets a key if none is configured, because Laravel serves no request without one. Without a configured database, the
 * session and the cache use stores that need none.
 */
const LARAVEL = `mkdir -p storage/logs storage/framework/cache/data storage/framework/sessions storage/framework/views bootstrap/cache
if [ -z "$APP_KEY" ] && ! grep -q '^APP_KEY=.' .env 2>/dev/null; then
  echo 'APP_KEY is not set: this replica makes one of its own, so that every start signs all users out, and what was encrypted before cannot be read. Set the variable APP_KEY to the output of "php artisan key:generate --show".' >&2
  export APP_KEY="base64:$(head -c 32 /dev/urandom | base64)"
fi
if [ -z "$DB_CONNECTION$DB_HOST$DB_URL$DATABASE_URL" ] && [ ! -e .env ]; then
  export SESSION_DRIVER="\${SESSION_DRIVER:-cookie}" CACHE_STORE="\${CACHE_STORE:-file}"
fi
`;
