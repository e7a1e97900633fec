import { expect } from 'chai';
import type { Service } from '../../../../../api/pages/console/api/types.js';
import { sourceText } from '../../../../../api/pages/console/ui/source-text.js';

describe('The source of a service, on its card', () => {
  const textOf = (configuration: Partial<Service['configuration']>, kind: Service['kind'] = 'web') =>
    sourceText({
      kind,
      configuration: { sourceType: 'repository', branch: 'main', repository: '', image: '', ...configuration },
    } as Service);

  it('is the repository and the branch', () => {
    expect(textOf({ repository: 'https://example.com/me/shop.git' })).to.equal('me/shop · main');
    expect(textOf({})).to.equal('no repository yet');
  });

  it('is git push if the service is deployed by push: it has no repository of its own to miss', () => {
    expect(textOf({ sourceType: 'push', branch: 'next' })).to.equal('git push · next');
  });

  it('is the image, or the kind of a database', () => {
    expect(textOf({ sourceType: 'image', image: 'nginx:1' })).to.equal('nginx:1');
    expect(textOf({ databaseVersion: '16' }, 'postgres')).to.equal('PostgreSQL 16');
  });
});
