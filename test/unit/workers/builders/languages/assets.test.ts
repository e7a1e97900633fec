import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { withAssets } from '../../../../../workers/builders/languages/assets.js';
import type { LanguagePlan } from '../../../../../workers/builders/languages/language.js';
import { EMPTY_PLAN } from '../../../../../workers/builders/languages/language.js';
import { packageJson } from '../../../../support/repositories.js';

const RUBY: LanguagePlan = {
  ...EMPTY_PLAN,
  install: ['bundle install'],
  manifests: ['Gemfile.lock'],
  dependencies: '.gems',
  build: ['rails assets:precompile'],
  searchPath: ['bin'],
  environment: { RAILS_ENV: 'production' },
  buildEnvironment: { HUSKY: 'own' },
  caches: { GEM_CACHE: 'gems' },
};
const BUILDS = packageJson({ scripts: { build: 'vite build' } });

function assets(texts: Record<string, string>, plan = RUBY, options = {}): LanguagePlan {
  return withAssets(projectFiles(Object.keys(texts), texts), plan, options);
}

describe('Assets that Node.js builds for another language', () => {
  it('leave a plan as it is if package.json builds nothing', () => {
    expect(assets({})).to.equal(RUBY);
    expect(assets({ 'package.json': packageJson({ scripts: { start: 'x' } }) })).to.equal(RUBY);
    expect(assets({ 'package.json': '{}', 'vite.config.js': '' }), 'no dependency').to.equal(RUBY);
  });

  it('are installed for each build and built before the language builds, and its own dependencies stay kept', () => {
    const { versions, ...plan } = assets({ 'package.json': BUILDS, 'yarn.lock': '' });
    expect(plan).to.deep.include({
      install: ['bundle install'],
      manifests: ['Gemfile.lock'],
      dependencies: '.gems',
      prepare: ['yarn install --frozen-lockfile --ignore-engines'],
      build: ['yarn run build', 'rails assets:precompile'],
      searchPath: ['bin', 'node_modules/.bin'],
      environment: { RAILS_ENV: 'production' },
    });
    expect(plan.buildEnvironment).to.include({ HUSKY: 'own', npm_config_audit: 'false' });
    expect(plan.caches).to.include({ GEM_CACHE: 'gems', YARN_CACHE_FOLDER: 'yarn' });
    expect(plan.keptFolders).to.include('node_modules/.cache');
    expect(versions.manager?.name).to.equal('yarn');
  });

  it('are the dependencies that are kept if the language installs nothing', () => {
    const plan = assets({ 'package.json': BUILDS, 'package-lock.json': '' }, EMPTY_PLAN);
    expect(plan).to.deep.include({
      install: ['npm ci'],
      manifests: ['package.json', 'package-lock.json'],
      dependencies: 'node_modules',
      build: ['npm run build'],
    });
    expect(plan.prepare).to.equal(undefined);
  });

  it('are built by a known script, or else by the bundler that is configured', () => {
    const build = (scripts: Record<string, string>, dependency: string, config: string) =>
      assets(
        { 'package.json': packageJson({ scripts, devDependencies: { [dependency]: '1' } }), [config]: '' },
        EMPTY_PLAN,
      ).build;
    expect(build({ dev: 'mix', production: 'mix -p' }, 'laravel-mix', 'webpack.mix.js')).to.deep.equal([
      'npm run production',
    ]);
    expect(build({ dev: 'vite' }, 'vite', 'vite.config.mts')).to.deep.equal(['vite build']);
    expect(build({}, 'webpack', 'webpack.config.cjs')).to.deep.equal(['webpack --mode production']);
  });

  it('are installed without a script if the build of the language needs them', () => {
    const plan = assets({ 'package.json': packageJson({ dependencies: { sass: '1' } }) }, RUBY, { isNeeded: true });
    expect(plan).to.deep.include({ prepare: ['npm install'], build: RUBY.build });
  });
});
