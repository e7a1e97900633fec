import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { php } from '../../../../../workers/builders/languages/php.js';
import { BuildError } from '../../../../../workers/failures/explained-errors.js';
import { packageJson } from '../../../../support/repositories.js';

type Texts = Record<string, string>;

const plan = (texts: Texts) => php.plan(projectFiles(Object.keys(texts), texts));
const composer = (manifest: object, more: Texts = {}): Texts => ({
  'composer.json': JSON.stringify(manifest),
  'composer.lock': '{}',
  ...more,
});
const INSTALL = 'composer install --no-dev --prefer-dist --no-interaction --optimize-autoloader';
const WITHOUT_SCRIPTS = INSTALL.replace('--optimize', '--no-scripts --optimize');
const DUMP = 'composer dump-autoload --no-dev --optimize --no-interaction';
const LOCKED = ['composer.json', 'composer.lock'];

describe('PHP projects', () => {
  it('are recognised, and lead over a package.json if they have a page', () => {
    const files = (...names: string[]) => projectFiles(names, {});
    for (const name of ['composer.json', 'index.php', 'public/index.php', 'artisan'])
      expect(php.matches(files(name)), name).to.equal(true);
    expect(php.matches(files('index.html', 'tool.php'))).to.equal(false);
    for (const name of ['artisan', 'bin/console', 'index.php'])
      expect(php.leads?.(files('package.json', name)), name).to.equal(true);
    expect(php.leads?.(files('package.json', 'composer.json'))).to.equal(false);
  });

  const roots: Record<string, [names: string[], root: string | null]> = {
    Laravel: [['artisan', 'composer.json'], 'public'],
    Symfony: [['bin/console', 'public/index.php'], 'public'],
    Drupal: [['composer.json', 'web/index.php'], 'web'],
    WordPress: [['index.php', 'wp-admin/index.php'], '.'],
    'a library': [['composer.json'], null],
  };
  for (const [name, [names, root]] of Object.entries(roots)) {
    it(`are served from the folder of their index.php: ${name}`, () => {
      const { start, startProgram, startAdvice } = plan(
        Object.fromEntries(names.map((file) => [file, file === 'composer.json' ? '{}' : ''])),
      );
      expect(start).to.equal(root === null ? null : `php -S 0.0.0.0:$PORT -t ${root}`);
      if (root === null) expect(startAdvice).to.contain('index.php');
      else expect(startProgram).to.contain(`root="$PWD${root === '.' ? '' : `/${root}`}"\n`);
    });
  }

  const installs: Record<string, [texts: Texts, expected: Record<string, unknown>]> = {
    'nothing without a composer.json': [{ 'index.php': '' }, { install: [], dependencies: null, build: [] }],
    'nothing if packages are committed': [composer({}, { 'vendor/autoload.php': '' }), { install: [], build: [] }],
    'locked packages': [composer({}), { install: [INSTALL], manifests: LOCKED, dependencies: 'vendor', build: [] }],
    'packages without a lock file, anew': [{ 'composer.json': '{}' }, { install: [INSTALL], manifests: null }],
    'with the Composer of the repository': [
      composer({}, { 'composer.phar': '' }),
      { install: [`php composer.phar${INSTALL.slice(8)}`] },
    ],
    'packages alone, and what depends on the project in each build': [
      composer({ scripts: { 'post-autoload-dump': ['@php artisan package:discover'] } }),
      { install: [WITHOUT_SCRIPTS], manifests: LOCKED, prepare: [DUMP] },
    ],
    'the list of classes in each build': [
      composer({ autoload: { classmap: ['src'] } }),
      { manifests: LOCKED, prepare: [DUMP] },
    ],
    'the scripts of an installation in each build': [
      composer({
        scripts: { 'post-install-cmd': ['@auto-scripts'] },
        config: { 'allow-plugins': { 'symfony/flex': true } },
      }),
      {
        install: [WITHOUT_SCRIPTS],
        manifests: LOCKED,
        prepare: ['composer run-script --no-dev --no-interaction post-install-cmd'],
      },
    ],
    'all at once if packages come from the project': [
      composer({ repositories: [{ type: 'path', url: 'packages/*' }], scripts: { 'post-install-cmd': 'x' } }),
      { install: [INSTALL], manifests: null, build: [] },
    ],
    'anew if plugins put packages elsewhere': [
      composer({ config: { 'allow-plugins': { 'composer/installers': true } } }),
      { manifests: null },
    ],
    'into a folder of its own': [
      composer({ config: { 'vendor-dir': 'lib' } }),
      { manifests: null, dependencies: null },
    ],
  };
  for (const [name, [texts, expected]] of Object.entries(installs)) {
    it(`install ${name}`, () => expect(plan(texts)).to.deep.include(expected));
  }

  const versions: Record<string, [texts: Texts, wish: object | null]> = {
    none: [{ 'index.php': '' }, null],
    '.php-version': [{ '.php-version': '8.3\n' }, { range: '8.3', source: '.php-version' }],
    '.tool-versions before a range': [
      composer({ require: { php: '>=7' } }, { '.tool-versions': 'php 8.3.1' }),
      { range: '~8.3.1', source: '.tool-versions' },
    ],
    'composer.json': [
      composer({ require: { php: '^8.1|^8.3' } }),
      { range: '^8.1||^8.3', source: 'require.php in composer.json', optional: true },
    ],
  };
  for (const [name, [texts, wish]] of Object.entries(versions)) {
    it(`read the version: ${name}`, () => expect(plan(texts).versions.languages?.[0]?.wish).to.deep.equal(wish));
  }

  it('name the place at which composer.json is invalid', () => {
    expect(() => plan({ 'composer.json': '{\n  "require": {,}\n}' }))
      .to.throw(BuildError)
      .with.property('message')
      .that.matches(/composer\.json is not valid JSON: .*position/);
    expect(() => plan({ 'composer.json': '[]' })).to.throw(BuildError, 'composer.json is not a JSON object');
  });

  it('of Laravel build the assets of package.json, and start without a key', () => {
    const scripts = packageJson({ scripts: { build: 'vite build' } });
    const laravel = plan({ ...composer({}), artisan: '', 'package.json': scripts, 'package-lock.json': '' });
    expect(laravel).to.deep.include({ install: [INSTALL], prepare: ['npm ci'], build: ['npm run build'] });
    expect(laravel.environment).to.include({ APP_ENV: 'production', LOG_CHANNEL: 'stderr' });
    expect(laravel.startProgram).to.match(/APP_KEY is not set: .*php artisan key:generate --show/);
    expect(plan({ 'index.php': '' }).startProgram).to.not.contain('APP_KEY');
  });
});
