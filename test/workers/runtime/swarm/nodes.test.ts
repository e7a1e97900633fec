import { readdir } from 'node:fs/promises';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { EngineError } from '../../../../workers/docker/docker-engine.js';
import type { ReleaseSpec, RuntimeDriver } from '../../../../workers/runtime/runtime-driver.js';
import { type DockerNode, NO_DOCKER, NODE_IMAGE } from '../../../support/docker.js';
import { eventually } from '../../../support/processes.js';
import { never } from '../host.js';
import { storeRun } from '../release-record.js';
import { askSwarm, SWARM_SERVER, SwarmHost } from './host.js';

/** Counts its starts in its volume, and answers with the file. */
const WRITER = `
const fs = require('node:fs');
fs.appendFileSync('/data/starts', 'started\\n');
require('node:http').createServer((_, response) => response.end(fs.readFileSync('/data/starts'))).listen(process.env.PORT);
process.on('SIGTERM', () => process.exit(0));
`;

describe(`Swarm runtime on several nodes${NO_DOCKER === '' ? '' : ` (${NO_DOCKER})`}`, () => {
  let host: SwarmHost;
  let runtime: RuntimeDriver;
  let worker: DockerNode;

  before(async function () {
    if (NO_DOCKER !== '') this.skip();
    host = await SwarmHost.create();
    runtime = await host.runtime();
  });
  after(async () => {
    if (NO_DOCKER === '') await host.destroy();
  });

  async function refusal(dockerHost: string): Promise<string> {
    const docker = { host: dockerHost, registryUrl: null };
    return host.runtime({ docker }).then(
      () => 'none',
      (error: Error) => {
        expect(error).to.be.instanceOf(EngineError);
        return error.message;
      },
    );
  }

  it('does not start without a manager of a swarm, and explains what to do', async () => {
    expect(await refusal('unix:///no/such.sock')).to.match(
      /^DOCKER_HOST=unix:\/\/\/no\/such\.sock: there is no such socket; start Docker, or set DOCKER_HOST/,
    );
    expect(await refusal('tcp://127.0.0.1:1')).to.match(/^DOCKER_HOST=tcp:\/\/127\.0\.0\.1:1: nothing listens there/);
    worker = await host.machines.addNode();
    expect(await refusal(worker.host)).to.match(
      /^RUNTIME=swarm needs a swarm manager.*it is not part of a swarm: run "docker swarm init" there/,
    );
    await host.machines.join(worker, host.manager);
    expect(await refusal(worker.host)).to.match(/it is a worker of a swarm: set DOCKER_HOST to a manager of it/);
  });

  it('spreads the replicas of a release over the nodes, even if the nodes have other tasks', async function () {
    this.timeout(240_000);
    await worker.importNode();
    const { docker } = host.manager;
    const { ID: busy } = await host.manager.swarmNode(worker.name);
    const task = { ContainerSpec: { Image: NODE_IMAGE, Command: ['sleep', '600'] } };
    const Placement = { Constraints: [`node.id==${busy}`] };
    await docker.createService({
      Name: 'other-work',
      TaskTemplate: { ...task, Placement, Resources: { Reservations: { NanoCPUs: 4e8 } } },
      Mode: { Replicated: { Replicas: 4 } },
    });
    const spec = await host.app({ live: true, configuration: { replicas: 2 } });
    await runtime.release(spec, never);
    expect(await places(spec)).to.deep.equal([host.manager.address, worker.address].sort());
    const answers = await Promise.all((await host.replicas(spec)).map((row) => askSwarm(row)));
    await eventually('they may go anywhere', async () =>
      (await host.swarmServices(spec)).every(
        (service) => (service.Spec?.TaskTemplate?.Placement?.Constraints ?? []).length === 0,
      ),
    );
    expect(await Promise.all((await host.replicas(spec)).map((row) => askSwarm(row)))).to.deep.equal(answers);
    await runtime.stop(spec.deploymentId);

    // 1.6 of the busy node's two cores are reserved, so neither replica fits on it.
    const large = await host.app({ live: true, configuration: { replicas: 2, plan: 'standard' } });
    await runtime.release(large, never);
    expect(await places(large)).to.deep.equal([host.manager.address, host.manager.address]);
    await runtime.stop(large.deploymentId);
    await docker.getService('other-work').remove();
  });

  it('replaces a task that runs and of which the swarm knows no port', async function () {
    this.timeout(240_000);
    const spec = await host.app({ live: true });
    await runtime.release(spec, never);
    const [service] = await host.swarmServices(spec);
    if (!service) throw new Error('no service');
    await host.manager.docker
      .getService(service.ID)
      .update({ ...service.Spec, version: service.Version?.Index, EndpointSpec: { Mode: 'dnsrr' } });
    await eventually('it is ready with a port again, as another service', async () => {
      const [now] = await host.swarmServices(spec);
      return now && now.ID !== service.ID && (await ready(spec, 1));
    });
    expect(await askSwarm(await host.replica(spec))).to.match(/^0\./);
    await runtime.stop(spec.deploymentId);
  });

  it('keeps a volume on its node through restarts and runs, and removes its content when it is deleted', async function () {
    this.timeout(240_000);
    const { runtime: own, data } = await host.worker();
    const [manager, other] = await Promise.all([host.manager, worker].map(({ name }) => host.manager.swarmNode(name)));
    for (const node of [manager, other]) {
      const spec = await host.app({ live: true, program: WRITER });
      Object.assign(spec, { hasVolumes: true });
      const id = await newVolume(spec, node);
      await own.release(spec, never);
      expect(await askSwarm(await host.replica(spec))).to.equal('started\n');
      await own.restart(spec, never);
      const [service] = await host.swarmServices(spec);
      expect(service?.Spec?.TaskTemplate?.Placement?.Constraints).to.deep.equal([`node.id==${node?.ID}`]);
      expect(await askSwarm(await newest(spec))).to.equal('started\nstarted\n');
      const attempt = await storeRun(host.database.db, spec, 60_000, 'echo run >>/data/starts');
      expect(await own.runAttempt(spec, attempt, never)).to.include({ type: 'exited', exitCode: 0 });
      expect(await askSwarm(await newest(spec))).to.equal('started\nstarted\nrun\n');
      await own.stopRun(attempt.runId);
      await own.stop(spec.deploymentId);

      await host.database.db('volumes').where({ id }).update({ removed_at: new Date() });
      await eventually('the volume is removed', async () => {
        await data.removeVolumes();
        return (await host.database.db('volumes').where({ id })).length === 0;
      });
      const { docker } = node === manager ? host.manager : worker;
      const left = (await docker.listVolumes()).Volumes.filter(({ Name }) => Name === `ranvier-${id}`);
      // On a node without the worker, the emptied volume stays.
      expect(await Promise.all(left.map(({ Mountpoint }) => readdir(Mountpoint)))).to.deep.equal(
        node === manager ? [] : [[]],
      );
    }
  });

  it('spreads replicas, follows them from a drained node, and has them back when a node dies', async function () {
    this.timeout(240_000);
    const spec = await host.app({ live: true, configuration: { replicas: 2 } });
    await runtime.release(spec, never);
    const nodes = [host.manager.address, worker.address].sort();
    expect(await places(spec)).to.deep.equal(nodes);
    for (const row of await host.replicas(spec)) expect(await askSwarm(row)).to.match(/^0\./);

    await setAvailability(worker, 'drain');
    await eventually('the replica of the drained node is on the other', async () => {
      return (await places(spec)).every((address) => address === host.manager.address) && (await ready(spec, 2));
    });
    await setAvailability(worker, 'active');
    await runtime.scale(spec, 4, never);
    expect((await places(spec)).filter((address) => address === worker.address)).to.have.length(2);

    const before = (await host.service(spec)).route_version;
    await worker.kill();
    // Swarm takes about 13 s to mark a node as down.
    await eventually(
      'all replicas are ready on the node that is left',
      async () => (await places(spec)).every((address) => address === host.manager.address) && (await ready(spec, 4)),
    );
    expect((await host.service(spec)).route_version).to.be.greaterThan(before);
    for (const row of await host.replicas(spec)) expect(await askSwarm(row)).to.match(/^0\./);
    await runtime.stop(spec.deploymentId);
  });

  it('does not hold against a release that its node was away while it came up', async function () {
    this.timeout(300_000);
    // The limit leaves a busy host the time to start the machine and its swarm again.
    const patient = await host.runtime({ releaseTimeoutSeconds: 240 });
    const begun = `console.log('begins'); setTimeout(() => {${SWARM_SERVER}}, 5000)`;
    const spec = await host.app({ live: true, program: begun });
    const released = patient.release(spec, never).then(
      () => 'released',
      (error: Error) => error.message,
    );
    await eventually('it begins', async () => host.linesOf(spec).includes('begins'));
    await host.manager.kill();
    await host.machines.boot(host.manager);
    const outcome = await released;
    expect(outcome, JSON.stringify(await host.replicas(spec))).to.equal('released');
    await runtime.stop(spec.deploymentId);
  });

  async function places(spec: ReleaseSpec): Promise<string[]> {
    return (await host.replicas(spec)).map((row) => row.address).sort();
  }

  async function newest(spec: ReleaseSpec) {
    const rows = (await host.replicas(spec)).filter((row) => row.run_id === null && row.state === 'ready');
    const row = rows.at(-1);
    if (row === undefined) throw new Error('no replica is ready');
    return row;
  }

  async function newVolume(
    { serviceId, image }: ReleaseSpec,
    node: Awaited<ReturnType<DockerNode['swarmNode']>> | undefined,
  ): Promise<string> {
    const volume = { id: uuidv7(), service_id: serviceId, name: 'data', mount_path: '/data', size_gb: 1 };
    const place = { node_id: node?.ID, node_name: node?.Description.Hostname };
    await host.database.db('volumes').insert({ ...volume, ...place, node_image: image.manifest.reference });
    return volume.id;
  }

  async function ready(spec: ReleaseSpec, count: number): Promise<boolean> {
    const rows = await host.replicas(spec);
    return rows.length === count && rows.every((row) => row.state === 'ready');
  }

  async function setAvailability({ name }: DockerNode, availability: string): Promise<void> {
    const node = await host.manager.swarmNode(name);
    await host.manager.docker
      .getNode(node.ID)
      .update({ ...node.Spec, version: node.Version.Index, Availability: availability });
  }
});
