import { expect } from 'chai';
import semver from 'semver';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { languageWish, rangeOf } from '../../../../../workers/builders/toolchains/language-wish.js';
import { versionFile } from '../../../../../workers/builders/toolchains/version-files.js';

describe('The version of a language that a project names', () => {
  for (const [text, satisfying, other] of [
    ['3.11', '3.11.9', '3.12.0'],
    ['python-3.11.4', '3.11.9', '3.11.3'],
    ['>=3.9,<4', '3.11.2', '4.0.0'],
    ['==3.11.*', '3.11.2', '3.12.0'],
    ['~=3.10', '3.12.0', '4.0.0'],
    ['>=3.9,!=3.9.1', '3.9.2', '3.8.0'],
    ['~> 3.1', '3.4.0', '4.0.0'],
    ['~> 3.1.2', '3.1.9', '3.2.0'],
    ['^8.1|^8.2', '8.3.0', '9.0.0'],
    ['^8.1 || ^9.0', '9.1.0', '10.0.0'],
    ['ruby-3.2.1', '3.2.5', '3.3.0'],
    ['temurin-21.0.2+13', '21.0.5', '17.0.0'],
    ['17', '17.0.15', '21.0.0'],
  ] as const) {
    it(`${text} takes ${satisfying} and refuses ${other}`, () => {
      const range = rangeOf(text) ?? 'none';
      expect(semver.satisfies(satisfying, range), range).to.equal(true);
      expect(semver.satisfies(other, range), range).to.equal(false);
    });
  }

  it('comes from the file of the language, then from .tool-versions, then from mise.toml', () => {
    const all = {
      '.ruby-version': '# ours\n3.2\n',
      '.tool-versions': 'nodejs 22\nruby 3.1.0\n',
      'mise.toml': '[tools]\nruby = "3.0"\n',
    };
    const wish = (texts: Record<string, string>) => {
      const files = projectFiles(Object.keys(texts), texts);
      return languageWish(files, 'ruby', [versionFile(files, '.ruby-version')]).wish;
    };
    expect(wish(all)).to.deep.equal({ range: '3.2', source: '.ruby-version' });
    expect(wish({ '.tool-versions': all['.tool-versions'], 'mise.toml': all['mise.toml'] })).to.deep.equal({
      range: '~3.1.0',
      source: '.tool-versions',
    });
    expect(wish({ 'mise.toml': all['mise.toml'] })?.range).to.equal('3.0');
    expect(wish({})).to.equal(null);
    expect(() => wish({ '.ruby-version': 'jruby' })).to.throw(
      '.ruby-version asks for Ruby "jruby", which is no version',
    );
  });
});
