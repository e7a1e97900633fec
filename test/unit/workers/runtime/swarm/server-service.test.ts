import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import type { CreateServiceOptions } from 'dockerode';
import { DEFAULT_CONFIGURATION } from '../../../../../shared/services/configuration.js';
import { emptyScript } from '../../../../../workers/runtime/swarm/server-scripts.js';
import {
  agentService,
  type DataRelease,
  serverService,
  volumeService,
  workService,
} from '../../../../../workers/runtime/swarm/server-service.js';
import { releaseSpec } from '../../../../support/fixtures.js';

const CONTEXT = { installation: 'ours', network: 'ranvier-staging', stopGraceSeconds: 7 };
const PASSWORDS = { user: 'the-user-password', admin: 'the-admin-password' };

function release(kind: 'postgres' | 'redis'): DataRelease {
  const configuration = { ...DEFAULT_CONFIGURATION, region: 'local', plan: 'starter' } as const;
  const manifest = { runtime: kind, reference: 'registry.test/postgres@sha256:1', startCommand: '' };
  return {
    ...releaseSpec({ slug: 'orders', configuration, environment: { SECRET: 'of the service' } }, manifest),
    kind,
  };
}

interface Task {
  ContainerSpec: {
    Command: string[];
    Env: string[];
    User: string;
    CapabilityDrop: string[];
    Mounts: { Source: string }[];
  };
  Placement: { Constraints: string[] };
  RestartPolicy: { Condition: string };
  Networks: object[];
}
const taskOf = (service: CreateServiceOptions) => service.TaskTemplate as unknown as Task;
const server = (kind: 'postgres' | 'redis', id = '01890000-0000-7000-8000-0123456789ab') =>
  serverService(release(kind), id, { version: '16', node_id: 'node-2' }, PASSWORDS, CONTEXT);

describe('The Swarm service of a database', () => {
  it('runs on the node with the volume only, in no region, without root and capabilities', () => {
    for (const kind of ['postgres', 'redis'] as const) {
      const { ContainerSpec, Placement } = taskOf(server(kind));
      expect(Placement.Constraints).to.deep.equal(['node.id==node-2']);
      expect(ContainerSpec.CapabilityDrop).to.deep.equal(['ALL']);
      expect(ContainerSpec.User).to.not.match(/^(0|root|)$/);
      expect(ContainerSpec.Mounts[0]).to.include({ Source: 'ranvier-service', Target: '/volume' });
      expect(server(kind).Labels).to.include({ 'ranvier.volume': 'service' });
    }
  });

  it('gets the passwords that its first start needs, and nothing of the service', () => {
    expect(taskOf(server('postgres')).ContainerSpec.Env).to.deep.equal([
      'ADMIN_PASSWORD=the-admin-password',
      'LC_ALL=C',
    ]);
    const redis = taskOf(server('redis')).ContainerSpec.Env.join();
    expect(redis).to.not.contain('-password').and.not.contain('of the service');
  });

  it('has scripts that a shell understands', () => {
    const services = [
      server('postgres'),
      server('redis'),
      volumeService(release('postgres'), 'volume-service', CONTEXT),
      workService(
        release('redis'),
        { name: 'volume-service', nodeId: 'node-2', command: emptyScript({ locked: true }) },
        CONTEXT,
      ),
      agentService(release('redis'), 'agent-service', { nodeId: 'node-2', token: 't' }, CONTEXT),
    ];
    for (const service of services) {
      const [, , script = ''] = taskOf(service).ContainerSpec.Command;
      const { status, stderr } = spawnSync('/bin/sh', ['-n', '-c', script], { encoding: 'utf8' });
      expect({ status, stderr }, script).to.deep.equal({ status: 0, stderr: '' });
    }
  });

  it('is preceded by a task that prepares the volume on any node of the region that has room for the server', () => {
    const made = taskOf(volumeService(release('postgres'), 'volume-service', CONTEXT));
    expect(made.Placement.Constraints).to.deep.equal(['node.labels.region==local']);
    expect(made).to.have.nested.property('Resources.Reservations');
    expect(made.RestartPolicy.Condition).to.equal('none');
    expect(made.Networks).to.deep.equal([{ Target: 'ranvier-staging' }]);
  });
});
