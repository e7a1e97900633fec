import { errorMessage } from '../../../shared/core/error-registry.js';
import type { ReplicaRow } from '../../replicas/rows.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import type { ImageProbe } from '../readiness-probe.js';
import type { ReleaseSpec } from '../runtime-driver.js';
import { processOf, sandboxIdOf } from './replica-sandbox.js';

const STARTING_MS = 1_000;
const MAX_SAID = 300;

type Inside = Pick<Sandbox, 'exec'>;

/** Runs the HEALTHCHECK of an image once. Resolves to '' if it passes, otherwise to the reason. */
export async function checkImage(sandbox: Inside, row: ReplicaRow, { image }: ReleaseSpec): Promise<string> {
  const { process, workingDirectory } = image.manifest;
  if (process?.healthCheck === undefined) return '';
  const { args, timeoutMs } = process.healthCheck;
  const command = { args, timeoutMs, user: process.user, cwd: workingDirectory || '/' };
  const { code, output } = await sandbox.exec(sandboxIdOf(row), processOf(row), command).catch((error: unknown) => {
    return { code: null, output: errorMessage(error) };
  });
  if (code === 0) return '';
  const said = output.trim().split('\n').at(-1)?.slice(0, MAX_SAID) ?? '';
  const how = code === null ? 'did not end in time' : `failed with code ${code}`;
  return `the image's HEALTHCHECK ${how}${said && `: ${said}`}`;
}

/** Runs the HEALTHCHECK of an image in the background, because it may take as long as the image allows. */
export class ImageCheck implements ImageProbe {
  readonly #sandbox: Inside;
  #isRunning = false;
  #nextAt = 0;
  #hasPassed = false;
  #failures = 0;
  #answer = '';

  constructor(sandbox: Inside) {
    this.#sandbox = sandbox;
  }

  trouble(row: ReplicaRow, spec: ReleaseSpec): string {
    const check = spec.image.manifest.process?.healthCheck;
    if (check === undefined) return '';
    if (!this.#isRunning && Date.now() >= this.#nextAt) void this.#run(row, spec, check.intervalMs);
    if (this.#hasPassed) return this.#failures >= check.retries ? this.#answer : '';
    return this.#answer === '' ? "the image's HEALTHCHECK has not ended yet" : this.#answer;
  }

  async #run(row: ReplicaRow, spec: ReleaseSpec, intervalMs: number): Promise<void> {
    this.#isRunning = true;
    const answer = await checkImage(this.#sandbox, row, spec);
    this.#isRunning = false;
    this.#answer = answer;
    this.#failures = answer === '' ? 0 : this.#failures + 1;
    this.#hasPassed ||= answer === '';
    this.#nextAt = Date.now() + (this.#hasPassed ? intervalMs : Math.min(STARTING_MS, intervalMs));
  }
}
