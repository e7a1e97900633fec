import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { planOf } from '../../../shared/services/catalog.js';
import { discardTree } from '../../core/folders.js';
import { LastLines } from '../../core/last-lines.js';
import { ReleaseError } from '../../failures/explained.js';
import { scopeOf } from '../../network/network-model.js';
import type { RunOutcome } from '../../sandbox/sandbox.js';
import { commandMessage, exitDetail, SEARCHED_LINES } from '../failure-text.js';
import { maskerOf } from '../retained-release.js';
import type { CommandOptions, ReleaseSpec } from '../runtime-driver.js';
import {
  COMMAND_SANDBOX,
  imageFolder,
  type ProcessRuntimeDeps,
  processOfImage,
  releaseVariables,
  toolsOf,
} from './replica-sandbox.js';

/**
 * Runs one command as the release's replicas run: same image, environment, user and limits. What it writes is thrown away.
 * Throws `ReleaseError` if it fails, and the signal's reason if it is aborted.
 */
export async function runReleaseCommand(
  { sandbox, toolchains, config, log }: Pick<ProcessRuntimeDeps, 'sandbox' | 'toolchains' | 'config' | 'log'>,
  spec: ReleaseSpec,
  command: string,
  { signal, timeoutMs, onLine }: CommandOptions,
): Promise<void> {
  const { manifest } = spec.image;
  const { memoryMb, cpu, pids } = planOf(spec.configuration.plan);
  const id = `${COMMAND_SANDBOX}${spec.deploymentId}`;
  const directory = join(config.dataDir, 'replicas', id);
  const discard = () => discardTree({ dataDir: config.dataDir, log }, directory);
  await discard();
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const output = new LastLines(SEARCHED_LINES);
  const masker = maskerOf(spec);
  try {
    const outcome = await sandbox.run(
      {
        id,
        command,
        directory,
        image: imageFolder(config.dataDir, spec),
        ...processOfImage(spec, sandbox),
        tools: await toolsOf(spec, toolchains, signal),
        cwd: manifest.workingDirectory,
        env: releaseVariables(spec),
        userNumber: spec.userNumber,
        limits: { memoryMb, cpu, pids },
        network: { scope: scopeOf(spec), use: 'application', hostName: '' },
      },
      {
        signal,
        timeoutMs,
        graceMs: config.stopGraceSeconds * 1000,
        cutter: masker,
        onLine: async (line) => {
          output.push(line);
          await onLine(line);
        },
      },
    );
    signal.throwIfAborted();
    if (outcome.reason === 'exited' && outcome.exitCode === 0) return;
    const shown = output.lines.map((line) => masker.mask(line));
    throw new ReleaseError(commandMessage(command, causeOf(outcome, timeoutMs, memoryMb), shown, memoryMb));
  } finally {
    await discard();
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
    case 'disk':
      return 'was ended, because it filled the disk of the host. Write less';
    case 'aborted':
      return 'was interrupted';
  }
}
