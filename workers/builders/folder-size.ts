import { runLimited } from '../../shared/core/run-limited.js';
import { SYSTEM_PATH } from '../command-wrappers.js';

/** A folder that takes longer to measure has too many files, in milliseconds. */
const MEASURE_MS = 20_000;

/** The space that a folder takes, in MB; null if it has too many files. Rejects if it cannot be measured. */
export async function usedMb(folder: string): Promise<number | null> {
  try {
    const options = { timeout: MEASURE_MS, killSignal: 'SIGKILL', env: { PATH: SYSTEM_PATH } } as const;
    const { stdout } = await runLimited('du', ['-skx', '--', folder], options);
    return Math.round(Number.parseInt(stdout, 10) / 1024);
  } catch (error) {
    if ((error as { killed?: boolean }).killed === true) return null;
    throw error;
  }
}
