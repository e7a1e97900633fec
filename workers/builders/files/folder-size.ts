import { CommandFailed, runLimited } from '../../../shared/core/run-limited.js';

/** After this time, a folder counts as having too many files. */
const MEASURE_MS = 20_000;

const MAX_FILES = 500_000;

/** Returns the disk space of a folder in MB; null if it has too many files. Rejects if measuring fails. */
export async function usedMb(folder: string, maxFiles = MAX_FILES): Promise<number | null> {
  try {
    const files = await runLimited('du', ['-sx', '--inodes', '--', folder], { timeout: MEASURE_MS });
    if (Number.parseInt(files.stdout, 10) > maxFiles) return null;
    const { stdout } = await runLimited('du', ['-skx', '--', folder], { timeout: MEASURE_MS });
    return Math.round(Number.parseInt(stdout, 10) / 1024);
  } catch (error) {
    if (error instanceof CommandFailed && error.killed) return null;
    throw error;
  }
}
