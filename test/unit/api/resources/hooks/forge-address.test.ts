import { expect } from 'chai';
import { type Forge, forgeAddress } from '../../../../../api/resources/hooks/forge-address.js';

describe('The API of a git host', () => {
  const cases: [forge: Forge, repository: string, apiUrl: string | undefined, expected: string | null][] = [
    ['github', 'https://github.com/team/shop.git', undefined, 'https://api.github.com team/shop'],
    ['github', 'git@github.com:team/shop.git', undefined, 'https://api.github.com team/shop'],
    ['github', 'ssh://git@ssh.github.com:443/team/shop', undefined, 'https://api.github.com team/shop'],
    ['github', 'https://***@git.example.com/team/shop/', undefined, 'https://git.example.com/api/v3 team/shop'],
    ['gitlab', 'https://gitlab.com/group/sub/shop.git', undefined, 'https://gitlab.com/api/v4 group/sub/shop'],
    ['gitlab', 'ssh://git@altssh.gitlab.com:443/a/b.git', undefined, 'https://gitlab.com/api/v4 a/b'],
    ['gitlab', 'https://x.test/gitlab/a/b', 'https://x.test/gitlab/api/v4/', 'https://x.test/gitlab/api/v4 a/b'],
    ['gitea', 'https://codeberg.org/team/shop.git', undefined, 'https://codeberg.org/api/v1 team/shop'],
    ['gitea', 'http://git.test:3000/sub/team/shop', undefined, 'http://git.test:3000/sub/api/v1 team/shop'],
    ['gitea', 'ssh://git@git.test:2222/team/shop.git', undefined, 'https://git.test/api/v1 team/shop'],
    ['gitea', 'file:///srv/team/shop.git', undefined, null],
    ['gitea', 'file:///srv/team/shop.git', 'http://git.test/api/v1', 'http://git.test/api/v1 team/shop'],
    ['github', 'https://github.com/shop', undefined, null],
    ['github', 'https://github.com/team/a%2Fb', undefined, null],
    ['github', 'https://github.com/team/%', undefined, null],
    ['github', 'starter:node', undefined, null],
    ['github', '', undefined, null],
  ];
  for (const [forge, repository, apiUrl, expected] of cases) {
    it(`of ${forge} at ${repository || 'no address'} is ${expected ?? 'unknown'}`, () => {
      const found = forgeAddress(forge, repository, apiUrl);
      expect(found && `${found.apiUrl} ${found.project}`).to.equal(expected);
    });
  }
});
