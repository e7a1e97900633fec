import { expect } from 'chai';
import { ReleaseError } from '../../../workers/failures/explained-errors.js';
import type { ReleaseSpec, RuntimeDriver } from '../../../workers/runtime/runtime-driver.js';

export interface Harness {
  runtime: RuntimeDriver;
  healthy(replicas: number): Promise<ReleaseSpec>;
  broken(): Promise<ReleaseSpec>;
  /** Creates a release whose replicas never become ready and never fail. */
  slow(): Promise<ReleaseSpec>;
  breakNow(spec: ReleaseSpec): Promise<void>;
  close(): Promise<void>;
}

const never = new AbortController().signal;

/** Defines the tests that every runtime driver must pass. With a reason in `without`, they are skipped. */
export function describeRuntime(name: string, open: () => Promise<Harness>, without = ''): void {
  describe(`Runtime conformance: ${name}${without === '' ? '' : ` (${without})`}`, () => {
    let harness: Harness;
    let runtime: RuntimeDriver;

    before(async function () {
      if (without !== '') this.skip();
      harness = await open();
      runtime = harness.runtime;
    });
    after(async () => {
      if (without === '') await harness.close();
    });

    async function states(spec: ReleaseSpec): Promise<string[]> {
      return (await runtime.inspect(spec.deploymentId)).map((replica) => replica.state);
    }
    async function ids(spec: ReleaseSpec): Promise<string[]> {
      return (await runtime.inspect(spec.deploymentId)).map((replica) => replica.id);
    }
    async function failure(work: Promise<unknown>): Promise<unknown> {
      return work.then(
        () => expect.fail('expected a rejection'),
        (error: unknown) => error,
      );
    }

    it('release returns when every replica is ready', async () => {
      const spec = await harness.healthy(2);
      await runtime.release(spec, never);
      expect(await states(spec)).to.deep.equal(['ready', 'ready']);
    });

    it('release again changes nothing', async () => {
      const spec = await harness.healthy(2);
      await runtime.release(spec, never);
      const before = await ids(spec);
      await runtime.release(spec, never);
      expect(await ids(spec)).to.deep.equal(before);
    });

    it('stop leaves nothing, again is harmless, and release brings it back', async () => {
      const spec = await harness.healthy(1);
      await runtime.release(spec, never);
      await runtime.stop(spec.deploymentId);
      expect(await states(spec)).to.deep.equal([]);
      await runtime.stop(spec.deploymentId);
      await runtime.release(spec, never);
      expect(await states(spec)).to.deep.equal(['ready']);
    });

    it('scale keeps what stays', async () => {
      const spec = await harness.healthy(1);
      await runtime.release(spec, never);
      const [first] = await ids(spec);
      await runtime.scale(spec, 3, never);
      expect(await states(spec)).to.deep.equal(['ready', 'ready', 'ready']);
      await runtime.scale(spec, 1, never);
      expect(await ids(spec)).to.deep.equal([first]);
    });

    it('restart replaces every replica', async () => {
      const spec = await harness.healthy(2);
      await runtime.release(spec, never);
      const before = await ids(spec);
      await runtime.restart(spec, never);
      const after = await ids(spec);
      expect(after).to.have.length(2);
      for (const id of after) expect(before).to.not.include(id);
    });

    it('a release that fails rejects with a ReleaseError that explains it', async () => {
      const spec = await harness.broken();
      const error = await failure(runtime.release(spec, never));
      expect(error).to.be.instanceOf(ReleaseError);
      expect((error as Error).message).to.match(/^replica 1 .* before it was healthy/);
      await runtime.stop(spec.deploymentId);
      expect(await states(spec)).to.deep.equal([]);
    });

    it('new replicas that fail beside a release that serves are removed', async () => {
      const spec = await harness.healthy(1);
      await runtime.release(spec, never);
      const before = await ids(spec);
      await harness.breakNow(spec);
      expect(await failure(runtime.restart(spec, never))).to.be.instanceOf(ReleaseError);
      expect(await ids(spec)).to.deep.equal(before);
      expect(await failure(runtime.scale(spec, 2, never))).to.be.instanceOf(ReleaseError);
      expect(await ids(spec)).to.deep.equal(before);
      expect(await states(spec)).to.deep.equal(['ready']);
    });

    it('an abort rejects with its reason, and stop cleans up', async () => {
      const spec = await harness.slow();
      const controller = new AbortController();
      const reason = new Error('cancelled by a person');
      const released = failure(runtime.release(spec, controller.signal));
      controller.abort(reason);
      expect(await released).to.equal(reason);
      await runtime.stop(spec.deploymentId);
      expect(await states(spec)).to.deep.equal([]);
    });
  });
}
