import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { planOf } from '../../../shared/domain/catalog.js';
import type { RunOutcome } from '../../sandbox/sandbox.js';
import { type CommandOptions, ReleaseError, type ReleaseSpec } from '../driver.js';
import { exitDetail } from '../exit-detail.js';
import { maskerOf } from '../masker.js';
import { COMMAND_SANDBOX, type ProcessRuntimeDeps } from './deps.js';

const LAST_LINES = 8;

/** Runs one command as the release's replicas run: same image, environment, user and limits; its changes are thrown away. */
export async function runReleaseCommand(
  { sandbox, config }: Pick<ProcessRuntimeDeps, 'sandbox' | 'config'>,
  spec: ReleaseSpec,
  command: string,
  { signal, timeoutMs, onLine }: CommandOptions,
): Promise<void> {
  const { manifest, digest } = spec.image;
  const { memoryMb, cpu, pids } = planOf(spec.configuration.plan);
  const id = `${COMMAND_SANDBOX}${spec.deploymentId}`;
  const directory = join(config.dataDir, 'replicas', id);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const said: string[] = [];
  const masker = maskerOf(spec);
  try {
    const outcome = await sandbox.run(
      {
        id,
        command,
        directory,
        image: join(config.dataDir, 'images', digest),
        cwd: manifest.workingDirectory,
        env: {
          ...spec.environment,
          RANVIER_SERVICE_ID: spec.serviceId,
          RANVIER_DEPLOYMENT_ID: spec.deploymentId,
        },
        userNumber: spec.userNumber,
        limits: { memoryMb, cpu, pids },
      },
      {
        signal,
        timeoutMs,
        graceMs: config.stopGraceSeconds * 1000,
        cutter: masker,
        onLine: async (line) => {
          said.push(line);
          if (said.length > LAST_LINES) said.shift();
          await onLine(line);
        },
      },
    );
    signal.throwIfAborted();
    if (outcome.reason === 'exited' && outcome.exitCode === 0) return;
    const output = said.map((line) => masker.mask(line)).join('\n');
    const cause = causeOf(outcome, timeoutMs, memoryMb);
    throw new ReleaseError(`the command "${command}" ${cause}${output === '' ? '' : `; its last output: ${output}`}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function causeOf(outcome: RunOutcome, timeoutMs: number, memoryMb: number): string {
  switch (outcome.reason) {
    case 'exited':
      return exitDetail(String(outcome.exitCode), memoryMb);
    case 'signalled':
      return exitDetail(`signal ${outcome.signal}`, memoryMb);
    case 'out-of-memory':
      return exitDetail('out-of-memory', memoryMb);
    case 'timeout':
      return `did not end within ${Math.round(timeoutMs / 1000)} s`;
    case 'aborted':
      return 'was interrupted';
  }
}
