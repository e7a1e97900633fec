import { expect } from 'chai';
import { DEFAULT_CONFIGURATION } from '../../../../../shared/services/configuration.js';
import type { ReleaseSpec } from '../../../../../workers/runtime/runtime-driver.js';
import { networkScope } from '../../../../../workers/runtime/swarm/release-network.js';
import { attemptService, replicaService } from '../../../../../workers/runtime/swarm/service-spec.js';
import { releaseSpec } from '../../../../support/fixtures.js';

const CONTEXT = { installation: 'ours', network: 'ranvier-staging', stopGraceSeconds: 7 };
const REPLICA = '01890000-0000-7000-8000-0123456789ab';

function release(changes: Partial<ReleaseSpec> = {}): ReleaseSpec {
  const configuration = { ...DEFAULT_CONFIGURATION, plan: 'standard' } as const;
  const manifest = { reference: 'registry.test/shop@sha256:1', startCommand: 'npm start' };
  return releaseSpec({ configuration, environment: { GREETING: 'hello' }, ...changes }, manifest);
}

describe('Swarm service of a replica', () => {
  it('has everything of the release and its plan', () => {
    const labels = {
      'ranvier.installation': 'ours',
      'ranvier.service': 'service',
      'ranvier.deployment': 'deployment',
      'ranvier.replica': REPLICA,
    };
    expect(replicaService(release(), REPLICA, CONTEXT)).to.deep.equal({
      Name: 'shop-0123456789ab',
      Labels: labels,
      TaskTemplate: {
        ContainerSpec: {
          Image: 'registry.test/shop@sha256:1',
          Command: ['/bin/sh', '-c', 'npm start'],
          Env: ['GREETING=hello', 'RANVIER_SERVICE_ID=service', 'RANVIER_DEPLOYMENT_ID=deployment', 'PORT=8000'],
          Labels: labels,
          Init: true,
          CapabilityDrop: ['CAP_NET_RAW', 'CAP_MKNOD'],
          StopGracePeriod: 7e9,
        },
        Resources: {
          Limits: { MemoryBytes: 2048 * 1024 * 1024, NanoCPUs: 2e9, Pids: 512 },
          Reservations: { MemoryBytes: 2048 * 1024 * 1024, NanoCPUs: 5e8 },
        },
        RestartPolicy: { Condition: 'any', Delay: 2e9, MaxAttempts: 0 },
        Placement: { Constraints: [] },
        Networks: [{ Target: 'ranvier-staging', Aliases: ['shop'] }],
        LogDriver: { Name: 'json-file', Options: { 'max-size': '10m', 'max-file': '3' } },
      },
      Mode: { Replicated: { Replicas: 1 } },
      EndpointSpec: { Mode: 'dnsrr', Ports: [{ Protocol: 'tcp', TargetPort: 8000, PublishMode: 'host' }] },
    });
  });

  it('gives variables as they are, although Swarm runs them as templates', () => {
    const environment = { PAGE: 'a {{{b}}} {{- .Node.Hostname}}', ODD: '{{{{{' };
    const { ContainerSpec } = task(replicaService(release({ environment }), REPLICA, CONTEXT));
    expect(ContainerSpec)
      .to.have.property('Env')
      .which.includes.members(['PAGE=a {{"{{"}}{b}}} {{"{{"}}- .Node.Hostname}}', 'ODD={{"{{"}}{{"{{"}}{']);
  });

  it("starts the image's own command if none is named, and gives it arguments", () => {
    const { image } = release();
    const own = { ...image, manifest: { ...image.manifest, startCommand: '', workingDirectory: '/srv' } };
    const { ContainerSpec } = task(replicaService(release({ image: own }), REPLICA, CONTEXT));
    expect(ContainerSpec).to.not.have.property('Command');
    expect(ContainerSpec).to.have.property('Dir', '/srv');
    expect(ContainerSpec).to.not.have.property('Args');
    const configuration = { ...release().configuration, startArguments: ['--one', 'a b'] };
    const given = replicaService(release({ image: own, configuration }), REPLICA, CONTEXT);
    expect(task(given).ContainerSpec).to.have.deep.property('Args', ['--one', 'a b']);
  });

  it('publishes no port of a worker, and sets no PORT for it', () => {
    const service = replicaService(release({ kind: 'worker' }), REPLICA, CONTEXT);
    expect(service.EndpointSpec).to.deep.equal({ Mode: 'dnsrr' });
    expect(task(service).ContainerSpec?.Env?.filter((entry) => entry.startsWith('PORT='))).to.deep.equal([]);
  });

  it('places a region on the nodes with its label', () => {
    const configuration = { ...release().configuration, region: 'local' as const };
    expect(task(replicaService(release({ configuration }), REPLICA, CONTEXT)).Placement).to.deep.equal({
      Constraints: ['node.labels.region==local'],
    });
  });

  it('has a name that Swarm takes, however long the slug', () => {
    const { Name } = replicaService(release({ slug: 'a'.repeat(60) }), REPLICA, CONTEXT);
    expect(Name).to.match(/^a{50}-[0-9a-f]{12}$/);
  });

  it('carries out the attempt of a run once, with the id of the run, without a port or the name of the service', () => {
    const service = attemptService(release(), REPLICA, 'run-1', CONTEXT);
    expect(service.Labels).to.include({ 'ranvier.replica': REPLICA });
    expect(service.EndpointSpec).to.deep.equal({ Mode: 'dnsrr' });
    expect(task(service).RestartPolicy).to.deep.equal({ Condition: 'none', MaxAttempts: 0 });
    expect(task(service).ContainerSpec?.Command).to.deep.equal(['/bin/sh', '-c', 'npm start']);
    const { Env = [] } = task(service).ContainerSpec ?? {};
    expect(Env).to.include.members(['GREETING=hello', 'RANVIER_RUN_ID=run-1']);
    expect(Env.filter((entry) => entry.startsWith('PORT='))).to.deep.equal([]);
    expect(task(service).Networks).to.deep.equal([{ Target: CONTEXT.network, Aliases: [] }]);
  });

  it("joins its environment's network, or one of its own", () => {
    const { configuration } = release();
    expect(networkScope(release())).to.equal('staging');
    expect(networkScope(release({ environmentId: null }))).to.equal('service');
    expect(networkScope(release({ configuration: { ...configuration, privateNetworking: false } }))).to.equal(
      'service',
    );
  });

  function task(service: ReturnType<typeof replicaService>) {
    const template = service.TaskTemplate;
    if (!template || !('ContainerSpec' in template)) throw new Error('no container');
    return template;
  }
});
