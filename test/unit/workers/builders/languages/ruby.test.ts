import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { ruby } from '../../../../../workers/builders/languages/ruby.js';
import { packageJson } from '../../../../support/repositories.js';

type Texts = Record<string, string>;

const plan = (texts: Texts) => ruby.plan(projectFiles(Object.keys(texts), texts));
const gemfile = (...names: string[]) => names.map((name) => `gem "${name}"\n`).join('');
const PLATFORM = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux`;

function lock(gems: Texts, platform = 'ruby'): string {
  const specs = Object.entries(gems).map(([name, version]) => `    ${name} (${version})\n      needs (>= 1)\n`);
  return `GEM\n  remote: https://rubygems.org/\n  specs:\n${specs.join('')}\nPLATFORMS\n  ${platform}\n\nBUNDLED WITH\n   2.9.9\n`;
}

const project = (gems: Texts, more: Texts = {}): Texts => ({
  Gemfile: gemfile(...Object.keys(gems)),
  'Gemfile.lock': lock(gems),
  ...more,
});
const RAILS = { 'bin/rails': '', 'config/application.rb': '', 'config.ru': '' };
const CLEAN = ' && rm -rf .gems/ruby/*/cache';

describe('Ruby projects', () => {
  it('are recognised, and lead over a package.json by what Rack starts', () => {
    const files = (...names: string[]) => projectFiles(names, {});
    for (const name of ['Gemfile', 'config.ru', 'main.rb', 'app.rb'])
      expect(ruby.matches(files(name)), name).to.equal(true);
    expect(ruby.matches(files('Rakefile', 'helper.rb'))).to.equal(false);
    expect(ruby.leads?.(files('Gemfile', 'package.json'))).to.equal(false);
    expect(ruby.leads?.(files('config.ru', 'package.json'))).to.equal(true);
    expect(ruby.leads?.(files('bin/rails', 'package.json'))).to.equal(true);
  });

  const starts: Record<string, [texts: Texts, start: string | null]> = {
    'a file without a Gemfile': [{ 'main.rb': '' }, 'ruby main.rb'],
    'a file with gems': [project({ sinatra: '4.0' }, { 'app.rb': '' }), 'bundle exec ruby app.rb'],
    Puma: [project({ puma: '6.4' }, { 'config.ru': '' }), 'bundle exec puma -b tcp://0.0.0.0:$PORT'],
    'Puma with its configuration': [
      project({ puma: '6.4' }, { ...RAILS, 'config/puma.rb': '' }),
      'bundle exec puma -C config/puma.rb -p $PORT',
    ],
    'Rails without Puma': [project({ rails: '7.1' }, RAILS), 'bundle exec rails server -b 0.0.0.0 -p $PORT'],
    'another server': [project({ unicorn: '6' }, { 'config.ru': '' }), 'bundle exec unicorn -l 0.0.0.0:$PORT'],
    'rackup of its own gem': [
      project({ rackup: '2.1', rack: '3.0' }, { 'config.ru': '' }),
      'bundle exec rackup --host 0.0.0.0 --port $PORT',
    ],
    'rackup of Rack 2': [
      project({ rack: '2.2.9' }, { 'config.ru': '' }),
      'bundle exec rackup --host 0.0.0.0 --port $PORT',
    ],
    'Rack 3 alone': [project({ rack: '3.1' }, { 'config.ru': '' }), null],
    'Puma without a lock file': [
      { Gemfile: '#gem "thin"\ngem "puma", "~> 6"\n', 'config.ru': '' },
      'bundle exec puma -b tcp://0.0.0.0:$PORT',
    ],
  };
  for (const [name, [texts, start]] of Object.entries(starts)) {
    it(`start: ${name}`, () => expect(plan(texts).start).to.equal(start));
  }

  it('say which gem starts a config.ru if none does', () => {
    expect(plan({ 'config.ru': '' }).startAdvice).to.contain('bundle add puma');
    expect(plan({ 'lib.rb': '' }).startAdvice).to.contain('main.rb');
  });

  const installs: Record<string, [texts: Texts, install: string[], manifests: string[] | null]> = {
    'nothing without a Gemfile': [{ 'main.rb': '' }, [], null],
    'nothing if it names no gem': [{ Gemfile: 'source "https://x"\nruby "~> 3.1"\n# gem "x"\n' }, [], null],
    'locked gems': [project({ puma: '6' }), [`bundle install${CLEAN}`], ['Gemfile', 'Gemfile.lock']],
    'gems without a lock file, anew each time': [{ Gemfile: gemfile('puma') }, [`bundle install${CLEAN}`], null],
    'vendored gems': [
      { ...project({ puma: '6' }), 'vendor/cache': '' },
      [`bundle install --local || bundle install${CLEAN}`],
      ['Gemfile', 'Gemfile.lock'],
    ],
    'gems of a folder of the project': [
      { Gemfile: 'gem "a", path: "engines/a"\n', 'Gemfile.lock': lock({}) },
      [`bundle install${CLEAN}`],
      null,
    ],
    'gems that are locked for another platform': [
      { Gemfile: gemfile('a'), 'Gemfile.lock': lock({ a: '1' }, 'arm64-darwin-22') },
      [`BUNDLE_DEPLOYMENT=false bundle lock --add-platform ${PLATFORM}`, `bundle install${CLEAN}`],
      null,
    ],
    'gems that are locked for this platform': [
      { Gemfile: gemfile('a'), 'Gemfile.lock': lock({ a: '1' }, `arm64-darwin-22\n  ${PLATFORM}`) },
      [`bundle install${CLEAN}`],
      ['Gemfile', 'Gemfile.lock'],
    ],
  };
  for (const [name, [texts, install, manifests]] of Object.entries(installs)) {
    it(`install ${name}`, () => {
      const { environment, ...found } = plan(texts);
      expect({ install: found.install, manifests: found.manifests }).to.deep.equal({ install, manifests });
      expect(found.dependencies).to.equal(install.length > 0 ? '.gems' : null);
      expect(environment.BUNDLE_DEPLOYMENT).to.equal(texts['Gemfile.lock'] === undefined ? undefined : '1');
    });
  }

  const versions: Record<string, [texts: Texts, range: string | undefined, source?: string]> = {
    none: [{ 'main.rb': '' }, undefined],
    '.ruby-version': [{ '.ruby-version': 'ruby-3.2.2\n' }, '~3.2.2', '.ruby-version'],
    '.tool-versions': [{ '.tool-versions': 'ruby 3.3.1\n' }, '~3.3.1', '.tool-versions'],
    'an exact one of the Gemfile': [
      { Gemfile: "ruby '3.2.2'\n", '.ruby-version': '3.1' },
      '>=3.2.2 <=3.2.2',
      'Gemfile',
    ],
    'ranges of the Gemfile': [{ Gemfile: 'ruby ">= 3.0", "< 3.4"' }, '>= 3.0  < 3.4', 'Gemfile'],
    'one with an engine': [{ Gemfile: 'ruby "~> 3.1", engine: "ruby", engine_version: "9.9"' }, '>=3.1 <4', 'Gemfile'],
    'the file that the Gemfile names': [
      { Gemfile: 'ruby file: ".ruby-version"', '.ruby-version': '3.3.0' },
      '>=3.3.0 <=3.3.0',
    ],
    'a commented line': [{ Gemfile: '# ruby "2.0"\n' }, undefined],
  };
  for (const [name, [texts, range, source = 'Gemfile']] of Object.entries(versions)) {
    it(`read the version: ${name}`, () => {
      const wish = plan(texts).versions.languages?.[0]?.wish;
      expect(wish?.range).to.equal(range);
      if (range !== undefined) expect(wish?.source).to.equal(source);
    });
  }

  it('of Rails build assets, boot caches, and start without a secret', () => {
    const rails = plan(
      project({ rails: '7.1', 'sprockets-rails': '3', bootsnap: '1', puma: '6' }, { ...RAILS, app: '' }),
    );
    expect(rails.build).to.deep.equal([
      'bundle exec rails assets:precompile',
      'bundle exec bootsnap precompile --gemfile app/',
    ]);
    expect(rails.environment).to.include({ RAILS_ENV: 'production', RAILS_SERVE_STATIC_FILES: '1' });
    expect(rails.environment).to.not.have.property('SECRET_KEY_BASE_DUMMY');
    expect(rails.buildEnvironment).to.include({ SECRET_KEY_BASE_DUMMY: '1' });
    expect(rails.startProgram).to.match(/SECRET_KEY_BASE is not set: .*openssl rand -hex 64/);
    expect(rails.startProgram?.endsWith('exec bundle exec puma -b tcp://0.0.0.0:$PORT')).to.equal(true);
    expect(plan(project({ rails: '7.1' }, RAILS)).build, 'an interface without pages').to.deep.equal([]);
    expect(plan(project({ puma: '6' }, { 'config.ru': '' })).startProgram).to.equal(undefined);
  });

  it('of Rails build the bundles of package.json first, once', () => {
    const scripts = packageJson({ scripts: { build: 'esbuild x', 'build:css': 'sass x' } });
    const gems = { rails: '7.1', 'jsbundling-rails': '1' };
    const rails = plan(project(gems, { ...RAILS, 'package.json': scripts, 'yarn.lock': '' }));
    expect(rails.build).to.deep.equal(['yarn run build', 'yarn run build:css', 'bundle exec rails assets:precompile']);
    expect(rails.buildEnvironment).to.include({ SKIP_JS_BUILD: '1', SKIP_CSS_BUILD: '1' });
    const without = plan(project(gems, { ...RAILS, 'package.json': '{}', 'yarn.lock': '' }));
    expect(without.prepare).to.deep.equal(['yarn install --frozen-lockfile --ignore-engines']);
  });
});
