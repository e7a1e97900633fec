import { expect } from 'chai';
import { seccompOf } from '../../../../workers/sandbox/seccomp.js';

const PROFILE = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: 38,
  syscalls: [
    { names: ['read', 'mount', 'io_setup', 'clone', 'clone3', 'socket'], action: 'SCMP_ACT_ALLOW', args: [] },
    { names: ['ptrace'], action: 'SCMP_ACT_ALLOW', includes: { minKernel: '4.8' } },
    { names: ['bpf'], action: 'SCMP_ACT_ALLOW', includes: { caps: ['CAP_BPF'] } },
    { names: ['arch_prctl'], action: 'SCMP_ACT_ALLOW', includes: { arches: ['amd64', 'x32'] } },
    { names: ['sync_file_range2'], action: 'SCMP_ACT_ALLOW', includes: { arches: ['arm64'] } },
  ],
};

describe('The filter of system calls', () => {
  it("is the distribution's profile for a process without capabilities, less what no hosted command needs", () => {
    const filter = seccompOf(PROFILE, 'x64', 'command');
    expect(filter?.defaultAction).to.equal('SCMP_ACT_ERRNO');
    expect(filter?.architectures).to.include('SCMP_ARCH_X86_64');
    const allowed = filter?.syscalls.filter((rule) => rule.action === 'SCMP_ACT_ALLOW' && rule.args === undefined);
    expect(allowed?.flatMap((rule) => rule.names)).to.deep.equal(['read', 'ptrace', 'arch_prctl']);
    const conditional = filter?.syscalls.filter((rule) => rule.action === 'SCMP_ACT_ALLOW' && rule.args !== undefined);
    expect(new Set(conditional?.flatMap((rule) => rule.names))).to.deep.equal(new Set(['clone', 'socket']));
  });

  it('refuses the same without a profile, and lets through the rest', () => {
    const filter = seccompOf(null, 'arm64', 'command');
    expect(filter?.defaultAction).to.equal('SCMP_ACT_ALLOW');
    const refused = filter?.syscalls.filter((rule) => rule.action === 'SCMP_ACT_ERRNO').flatMap((rule) => rule.names);
    expect(refused).to.include.members(['mount', 'unshare', 'bpf', 'io_uring_setup', 'clone3', 'clone', 'socket']);
  });

  it('allows to make and enter user namespaces, and no other kind, in the containers of an ordinary user', () => {
    const rulesFor = (profile: typeof PROFILE | null, kind: 'command' | 'rootless') =>
      seccompOf(profile, 'x64', kind)?.syscalls.filter(({ names }) => /unshare|setns/.test(names.join()));
    const args = (index: number, op: string) => [{ index, value: 0x10000000, op }];
    expect(rulesFor(PROFILE, 'rootless')).to.deep.equal([
      { names: ['unshare'], action: 'SCMP_ACT_ALLOW', args: args(0, 'SCMP_CMP_EQ') },
      { names: ['setns'], action: 'SCMP_ACT_ALLOW', args: args(1, 'SCMP_CMP_EQ') },
    ]);
    expect(rulesFor(null, 'rootless')).to.deep.equal([
      { names: ['unshare'], action: 'SCMP_ACT_ERRNO', errnoRet: 1, args: args(0, 'SCMP_CMP_NE') },
      { names: ['setns'], action: 'SCMP_ACT_ERRNO', errnoRet: 1, args: args(1, 'SCMP_CMP_NE') },
    ]);
    expect(rulesFor(PROFILE, 'command')?.map(({ action }) => action)).to.deep.equal(['SCMP_ACT_ERRNO']);
  });

  it('is absent on a machine whose calls are not known', () => {
    expect(seccompOf(PROFILE, 'riscv64', 'command')).to.equal(null);
  });
});
