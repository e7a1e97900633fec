import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../shared/services/configuration.js';
import { releaseOfRun, withoutSearchPath } from '../../../../workers/releases/release-of-run.js';
import type { ReleaseSpec } from '../../../../workers/runtime/runtime-driver.js';
import { releaseSpec } from '../../../support/fixtures.js';

const PATH = 'export PATH="$PWD/node_modules/.bin:$PATH"; ';

function release(startCommand: string, releaseCommand?: string): ReleaseSpec {
  const configuration = { ...DEFAULT_CONFIGURATION, plan: 'starter' } as const;
  const commands = { startCommand, shownCommand: 'next start' };
  return releaseSpec({ configuration }, releaseCommand === undefined ? commands : { ...commands, releaseCommand });
}

describe('The release of a run', () => {
  it('has the command and the plan of the run', () => {
    const { configuration, image } = releaseOfRun(release('node .'), { command: 'npm run migrate', plan: 'pro' });
    expect(configuration.plan).to.equal('pro');
    expect(image.manifest).to.include({ startCommand: 'npm run migrate', shownCommand: 'npm run migrate' });
  });

  it('is that of the deployment if the run carries out the command of the service', () => {
    const spec = release('node .');
    expect(releaseOfRun(spec, { command: null, plan: null })).to.deep.equal(spec);
  });

  it('finds the programs that the build has installed', () => {
    for (const spec of [release(`${PATH}next start`), release('', `${PATH}prisma migrate deploy`)]) {
      const { manifest } = releaseOfRun(spec, { command: 'prisma studio', plan: null }).image;
      expect(manifest).to.include({ startCommand: `${PATH}prisma studio`, shownCommand: 'prisma studio' });
    }
    expect(withoutSearchPath(`${PATH}prisma studio`)).to.equal('prisma studio');
  });
});
