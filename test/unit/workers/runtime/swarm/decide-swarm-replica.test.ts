import { expect } from 'chai';
import type { Service } from 'dockerode';
import fc from 'fast-check';
import { DEFAULT_CONFIGURATION } from '../../../../../shared/services/configuration.js';
import { REPLICA_STATES } from '../../../../../workers/replicas/model.js';
import type { ReplicaRow } from '../../../../../workers/replicas/rows.js';
import {
  decideSwarmReplica,
  type ObservedSwarmReplica,
  type SwarmMemory,
} from '../../../../../workers/runtime/swarm/decide-swarm-replica.js';
import { LABELS } from '../../../../../workers/runtime/swarm/service-spec.js';
import { type SwarmNode, type SwarmTask, SwarmView } from '../../../../../workers/runtime/swarm/swarm-view.js';
import { replicaRow } from '../../../../support/fixtures.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const READY = new Date(NOW - 60_000);
const PORT = DEFAULT_CONFIGURATION.port;

const row = (changes: Partial<ReplicaRow> = {}) => replicaRow(READY, changes);
const coming = (changes: Partial<ReplicaRow> = {}) => row({ state: 'starting', ready_at: null, ...changes });
const unstarted = () => coming({ task_id: null, port: null });
const stopping = (changes: Partial<ReplicaRow> = {}) => row({ desired: 'stopped', ...changes });

function service({ replicas = 1, constraints = [] as string[], volume = false, graceSeconds = 10 } = {}): Service {
  const spec = {
    Labels: { [LABELS.replica]: 'replica', ...(volume ? { [LABELS.volume]: 'service' } : {}) },
    Mode: { Replicated: { Replicas: replicas } },
    TaskTemplate: {
      Placement: { Constraints: constraints },
      ContainerSpec: { StopGracePeriod: graceSeconds * 1_000_000_000 },
    },
  };
  return { ID: 'swarm-service', Spec: spec } as unknown as Service;
}

interface TaskInit {
  id?: string;
  state?: string;
  error?: string;
  desired?: string;
  port?: number | null;
  createdAt?: number;
}

function task({
  id = 'task-1',
  state = 'running',
  error,
  desired = 'running',
  port = 30_000,
  createdAt = 0,
}: TaskInit) {
  return {
    ID: id,
    ServiceID: 'swarm-service',
    NodeID: 'node',
    CreatedAt: new Date(NOW - 60_000 + createdAt).toISOString(),
    DesiredState: desired,
    Status: {
      State: state,
      ...(error === undefined ? {} : { Err: error }),
      PortStatus: { Ports: port === null ? [] : [{ TargetPort: PORT, PublishedPort: port }] },
    },
  } satisfies SwarmTask;
}

function node(state = 'ready', availability = 'active'): SwarmNode {
  return {
    ID: 'node',
    Spec: { Availability: availability },
    Description: { Hostname: 'worker-1' },
    Status: { State: state, Addr: '10.0.0.9' },
  };
}

interface World {
  services?: Service[];
  tasks?: SwarmTask[];
  nodes?: SwarmNode[];
  disturbed?: Map<string, number>;
  memory?: Partial<SwarmMemory>;
  spec?: ObservedSwarmReplica['spec'];
}

const SPEC = { kind: 'web' as const, configuration: DEFAULT_CONFIGURATION };

function decide(of: ReplicaRow, world: World = {}) {
  const { services = [service()], tasks = [], nodes = [node()], disturbed, memory, spec = SPEC } = world;
  return decideSwarmReplica(
    {
      row: of,
      view: new SwarmView(services, tasks, nodes, disturbed),
      spec,
      memory: { drained: false, scaledSince: null, overSince: null, portless: null, ...memory },
    },
    NOW,
  );
}

const types = (actions: readonly { type: string }[]) => actions.map(({ type }) => type);
const taken = (taskId: string, address: string, port: number | null) => [
  { type: 'recordTask', place: { taskId, address, port } },
];

describe('What a controller does to a replica that runs as a Swarm service', () => {
  describe('that starts', () => {
    it('claims one that waits, and creates the service that a dead worker did not create', () => {
      expect(types(decide(row({ state: 'pending' })))).to.deep.equal(['claim']);
      expect(types(decide(unstarted(), { services: [] }))).to.deep.equal(['createService']);
    });

    it('takes its first task once it runs and its port is known', () => {
      expect(decide(unstarted(), { tasks: [task({})] })).to.deep.equal(taken('task-1', '10.0.0.9', 30_000));
    });

    it('takes a task that has ended, so that its end is recorded', () => {
      const ended = task({ state: 'failed', port: null });
      expect(decide(unstarted(), { tasks: [ended] })).to.deep.equal(taken('task-1', '10.0.0.1', null));
    });

    it('records what keeps a task from running', () => {
      expect(decide(unstarted())).to.deep.equal([
        { type: 'recordHindrance', detail: 'the swarm has made no task of it yet' },
      ]);
      const pending = task({ state: 'pending', error: 'no suitable node (insufficient resources)' });
      expect(decide(unstarted(), { tasks: [pending] })).to.deep.equal([
        { type: 'recordHindrance', detail: 'no suitable node (insufficient resources)' },
      ]);
    });

    it('frees its placement if no node is suitable', () => {
      const pending = task({ state: 'pending', error: 'no suitable node' });
      const services = [service({ constraints: ['node.id==node'] })];
      expect(types(decide(unstarted(), { services, tasks: [pending] }))).to.deep.equal(['freePlacement']);
    });

    it('waits ten seconds for a port, then replaces the service', () => {
      const tasks = [task({ port: null })];
      const after = (ms: number) =>
        decide(unstarted(), { tasks, memory: { portless: { taskId: 'task-1', since: NOW - ms } } });
      expect(types(decide(unstarted(), { tasks }))).to.include('notePortless');
      expect(types(after(9_999))).to.not.include.members(['replaceService']);
      expect(types(after(10_000))).to.include('replaceService');
    });

    it('waits for the next task instead of failing if the swarm took the first one away', () => {
      const shutdown = task({ state: 'shutdown' });
      expect(decide(coming(), { tasks: [shutdown] })).to.deep.equal([]);
      const next = task({ id: 'task-2', createdAt: 1_000 });
      expect(decide(coming(), { tasks: [shutdown, next] })).to.deep.equal(taken('task-2', '10.0.0.9', 30_000));
      const failed = task({ state: 'failed' });
      expect(types(decide(coming(), { tasks: [failed], disturbed: new Map([['node', NOW]]) }))).to.deep.equal([]);
      expect(types(decide(coming(), { tasks: [failed] }))).to.deep.equal(['recordTaskEnd']);
    });
  });

  describe('that has a volume', () => {
    const spec = { kind: 'postgres' as const, configuration: DEFAULT_CONFIGURATION };
    const services = [service({ constraints: ['node.id==node'], volume: true })];
    const error = 'no suitable node (scheduling constraints not satisfied)';
    const pending = { ...task({ state: 'pending', error }), NodeID: '' };
    const waiting = (nodes: SwarmNode[]) =>
      decide(coming({ task_id: null, port: null, volume_id: 'service' }), { spec, services, tasks: [pending], nodes });

    it('never leaves the node of its volume, and says what is wrong with that node', () => {
      expect(waiting([node('down')])).to.deep.equal([
        { type: 'recordHindrance', detail: 'the node worker-1, which has its volume, is down' },
      ]);
      expect(waiting([node('ready', 'drain')])).to.deep.equal([
        { type: 'recordHindrance', detail: 'the node worker-1, which has its volume, has the availability drain' },
      ]);
      expect(waiting([])).to.deep.equal([
        { type: 'recordHindrance', detail: 'the node that has its volume is not in the swarm any more' },
      ]);
    });

    it('waits for its node if that is lost', () => {
      const lost = decide(row({ volume_id: 'service' }), { spec, services, tasks: [task({})], nodes: [node('down')] });
      expect(types(lost)).to.deep.equal(['recordLoss']);
      expect(lost[0]).to.have.property('detail').that.contains('worker-1').and.contains('no other one starts it');
      const exited = row({ state: 'exited', volume_id: 'service' });
      const next = { ...pending, ID: 'task-2', CreatedAt: new Date(NOW).toISOString() };
      expect(decide(exited, { spec, services, tasks: [task({}), next], nodes: [node('down')] })).to.deep.equal([]);
    });

    it('frees no placement once it runs', () => {
      expect(types(decide(row({ volume_id: 'service' }), { spec, services, tasks: [task({})] }))).to.deep.equal([
        'followOutput',
        'checkHealth',
      ]);
    });
  });

  describe('that is the attempt of a run', () => {
    const attempt = (changes: Partial<ReplicaRow> = {}) => coming({ run_id: 'run', port: null, ...changes });
    const spec = { kind: 'cron' as const, configuration: DEFAULT_CONFIGURATION };
    const only = (tasks: SwarmTask[], nodes = [node()]) => decide(attempt(), { spec, tasks, nodes });

    it('is followed without a health check, and its task is not replaced', () => {
      expect(types(only([task({ port: null })]))).to.deep.equal(['followOutput']);
      const [ended, later] = [task({ state: 'complete' }), task({ id: 'task-2', createdAt: 1_000 })];
      expect(types(only([ended, later]))).to.deep.equal(['recordTaskEnd']);
    });

    it('ends with its task, its node or its service, whoever took them away', () => {
      expect(only([task({ state: 'shutdown' })])).to.deep.equal([
        { type: 'recordEnd', detail: 'was stopped by the swarm' },
      ]);
      expect(only([task({})], [node('down')])).to.deep.equal([
        { type: 'recordLoss', detail: 'was lost with node worker-1, which is down' },
      ]);
      expect(types(decide(attempt(), { spec, services: [] }))).to.deep.equal(['recordEnd']);
      expect(types(only([]))).to.deep.equal(['recordEnd']);
    });

    it('is not started again when it has ended', () => {
      expect(decide(attempt({ state: 'exited', ready_at: null }), { spec, services: [] })).to.deep.equal([]);
    });
  });

  describe('that runs', () => {
    it('follows its output and checks its health', () => {
      expect(types(decide(row(), { tasks: [task({})] }))).to.deep.equal(['followOutput', 'checkHealth']);
    });

    it('gets no more requests when the swarm is about to end its task', () => {
      const tasks = [task({ desired: 'shutdown' })];
      expect(types(decide(row(), { tasks }))).to.deep.equal(['followOutput', 'recordUnhealthy']);
      expect(types(decide(row({ state: 'unhealthy' }), { tasks }))).to.deep.equal(['followOutput']);
    });

    it('records how its task ended: by itself, with its node, by the swarm, or with its service', () => {
      expect(types(decide(row(), { tasks: [task({ state: 'failed' })] }))).to.deep.equal(['recordTaskEnd']);
      expect(decide(row(), { tasks: [task({})], nodes: [node('down')] })).to.deep.equal([
        { type: 'recordLoss', detail: 'was lost with node worker-1, which is down' },
      ]);
      const drained = { tasks: [task({ state: 'shutdown' })], nodes: [node('ready', 'drain')] };
      expect(decide(row(), drained)).to.deep.equal([
        { type: 'recordEnd', detail: 'left node worker-1, whose availability is drain' },
      ]);
      expect(decide(row(), { services: [] })).to.deep.equal([
        { type: 'recordEnd', detail: 'was removed from the swarm by somebody else' },
      ]);
    });

    it('cannot go on if its release cannot be read', () => {
      expect(types(decide(row(), { tasks: [task({})], spec: null }))).to.deep.equal(['failUnreadable']);
    });
  });

  describe('that exited', () => {
    const exited = (changes: Partial<ReplicaRow> = {}) => row({ state: 'exited', ...changes });

    it('moves on to the task that the swarm started in its place', () => {
      const tasks = [task({ state: 'failed' }), task({ id: 'task-2', createdAt: 1_000 })];
      expect(decide(exited(), { tasks })).to.deep.equal(taken('task-2', '10.0.0.9', 30_000));
    });

    it('is claimed again without a service, after its delay', () => {
      const next = (ms: number) => exited({ next_start_at: new Date(NOW + ms) });
      expect(decide(next(1), { services: [] })).to.deep.equal([]);
      expect(types(decide(next(0), { services: [] }))).to.deep.equal(['claim']);
    });

    it('stays as it is if it never was ready', () => {
      expect(decide(exited({ ready_at: null }), { tasks: [task({ id: 'task-2' })] })).to.deep.equal([]);
    });
  });

  describe('that stops', () => {
    it('drains first, then scales to zero, and drains once', () => {
      const tasks = [task({})];
      expect(types(decide(stopping(), { tasks }))).to.deep.equal(['drain', 'followOutput', 'scaleToZero']);
      const memory = { drained: true };
      expect(types(decide(stopping(), { tasks, memory }))).to.deep.equal(['followOutput', 'scaleToZero']);
      expect(types(decide(stopping({ state: 'unhealthy' }), { tasks }))).to.not.include('drain');
    });

    it('waits for its tasks, copies the rest of their output, and waits until Swarm has forgotten them', () => {
      const services = [service({ replicas: 0 })];
      const memory = { drained: true, scaledSince: NOW };
      expect(types(decide(stopping(), { services, tasks: [task({})], memory }))).to.deep.equal(['followOutput']);
      const tasks = [task({ state: 'shutdown' })];
      expect(types(decide(stopping(), { services, tasks, memory }))).to.deep.equal([
        'followOutput',
        'finishOutput',
        'noteOver',
      ]);
      const over = (ms: number) => ({ services, tasks, memory: { drained: true, overSince: NOW - ms } });
      expect(types(decide(stopping(), over(2_999)))).to.deep.equal([]);
      expect(types(decide(stopping(), over(3_000)))).to.deep.equal(['removeService', 'recordStopped']);
    });

    it('waits for no task whose container the swarm will not start, but for one that it starts', () => {
      const services = [service({ replicas: 0 })];
      const memory = { drained: true, scaledSince: NOW };
      const next = (state: string, desired: string) => {
        const tasks = [task({ state: 'complete', desired: 'shutdown' }), task({ id: 'task-2', state, desired })];
        return types(decide(stopping(), { services, tasks, memory }));
      };
      expect(next('ready', 'remove')).to.include('noteOver');
      expect(next('ready', 'ready')).to.not.include('noteOver');
      expect(next('starting', 'remove')).to.not.include('noteOver');
    });

    it('waits for an end that the swarm does not report within a bound, and without one if the replica has a volume', () => {
      const services = [service({ replicas: 0, graceSeconds: 10 })];
      const tasks = [task({ state: 'starting', desired: 'remove' })];
      const after = (ms: number, changes: Partial<ReplicaRow> = {}) =>
        types(
          decide(stopping(changes), {
            services,
            tasks,
            memory: { drained: true, scaledSince: ms < 0 ? null : NOW - ms },
          }),
        );
      expect(after(-1)).to.include('noteScaled');
      expect(after(29_999)).to.deep.equal(['followOutput']);
      expect(after(30_000)).to.deep.equal(['followOutput', 'finishOutput', 'noteOver']);
      expect(after(30_000, { volume_id: 'volume-1' })).to.deep.equal(['followOutput']);
    });

    it('does not wait for the output of a task that was lost with its node', () => {
      const world = { services: [service({ replicas: 0 })], tasks: [task({})], nodes: [node('down')] };
      expect(types(decide(stopping({ state: 'unhealthy' }), world))).to.not.include('finishOutput');
    });

    it('stops although its release cannot be read', () => {
      expect(types(decide(stopping(), { tasks: [task({})], spec: null }))).to.deep.equal(['drain', 'scaleToZero']);
      expect(types(decide(stopping(), { services: [], spec: null }))).to.deep.equal(['drain', 'recordStopped']);
    });
  });

  describe('in any state', () => {
    const states = fc.constantFrom('pending', 'running', 'complete', 'shutdown', 'failed', 'rejected');
    const tasks = fc.array(
      fc.record({
        id: fc.constantFrom('task-1', 'task-2', 'task-3'),
        state: states,
        desired: fc.constantFrom('running', 'shutdown'),
        port: fc.constantFrom(30_000, null),
        createdAt: fc.integer({ min: 0, max: 9_999 }),
      }),
      { maxLength: 3 },
    );
    const worlds = fc.record({
      services: fc.constantFrom<Service[]>([], [service()], [service({ replicas: 0 })]),
      tasks: tasks.map((all) => all.map(task)),
      nodes: fc.constantFrom<SwarmNode[]>([], [node()], [node('down')], [node('ready', 'drain')]),
      memory: fc.record({
        drained: fc.boolean(),
        scaledSince: fc.constantFrom(null, NOW - 1, NOW - 60_000),
        overSince: fc.constantFrom(null, NOW - 1, NOW - 5_000),
      }),
      spec: fc.constantFrom(SPEC, null),
    });
    const rows = fc.record({
      state: fc.constantFrom(...REPLICA_STATES),
      desired: fc.constantFrom('running' as const, 'stopped' as const),
      ready_at: fc.constantFrom(READY, null),
      task_id: fc.constantFrom('task-1', null),
    });

    it('removes no service of a ready replica that was not drained, and records no stop before the service is gone', () => {
      fc.assert(
        fc.property(rows, worlds, (changes, world) => {
          const actions = types(decide(row(changes), world));
          const drains = changes.state === 'ready' && !world.memory.drained;
          if (changes.desired === 'stopped' && drains) expect(actions[0]).to.equal('drain');
          if (actions.includes('recordStopped') && world.services.length > 0) {
            expect(actions.indexOf('removeService')).to.be.within(0, actions.indexOf('recordStopped') - 1);
          }
        }),
      );
    });

    it('never stops what is wanted, and starts nothing that is to be stopped', () => {
      const ending = ['drain', 'scaleToZero', 'removeService', 'recordStopped', 'noteOver'];
      const starting = ['claim', 'createService', 'recordTask', 'checkHealth'];
      fc.assert(
        fc.property(rows, worlds, (changes, world) => {
          const forbidden = changes.desired === 'running' ? ending : starting;
          for (const type of types(decide(row(changes), world))) expect(forbidden).to.not.include(type);
        }),
      );
    });
  });
});
