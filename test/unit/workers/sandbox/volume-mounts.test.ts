import { expect } from 'chai';
import type { ContainedHost, Plan } from '../../../../workers/sandbox/sandbox-plan.js';
import { MOUNT_VOLUMES, volumeArguments, volumeMounts } from '../../../../workers/sandbox/volume-mounts.js';

const HOST = { level: 'full', oci: { mountVolumes: '/own/mount-volumes' } } as unknown as ContainedHost;
const planOf = (volumes: Plan['volumes']) => ({ uid: 7, volumes }) as unknown as Plan;

describe('The mounts of volumes', () => {
  const volume = (folder: string, exclusive: boolean, grows = false) => ({ folder, path: '/data', exclusive, grows });

  it('lock the volumes of a replica, and not those of a run beside it', () => {
    const args = (exclusive: boolean) =>
      volumeArguments(HOST, planOf([volume('/a', exclusive), volume('/b', exclusive, true)]));
    const program = ['/bin/sh', '/own/mount-volumes', '2', '7'];
    expect(args(true)).to.deep.equal([...program, '/a', 'exclusive', 'keep', '/b', 'exclusive', 'grow']);
    expect(args(false)).to.deep.equal([...program, '/a', 'shared', 'keep', '/b', 'shared', 'grow']);
    expect(volumeArguments(HOST, planOf([]))).to.deep.equal([]);
  });

  it('hold the lock in the program that they become, and ignore set-user-ID programs and devices', () => {
    expect(MOUNT_VOLUMES).to.match(/eval "exec \$fd>.*writer.*" && flock -w \d+ "\$fd" \|\| fail/);
    for (const line of MOUNT_VOLUMES.split('\n').filter((text) => text.includes('mount -n'))) {
      expect(line).to.include('nosuid,nodev');
    }
    const [mount] = volumeMounts({ volumes: [volume('/a', true)] });
    expect(mount?.options).to.include.members(['nosuid', 'nodev']);
  });
});
