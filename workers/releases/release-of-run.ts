import type { ImageManifest } from '../../shared/images/model.js';
import type { RunRow } from '../../shared/runs/model.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';

/** Matches the prefix with which a build puts folders of the project first in the PATH of its commands. */
const SEARCH_PATH = /^export PATH="[^"]{1,1000}"; /;

/** Returns the release as a run uses it: with the run's own command and plan, if it has any. */
export function releaseOfRun(spec: ReleaseSpec, { command, plan }: Pick<RunRow, 'command' | 'plan'>): ReleaseSpec {
  const { configuration, image } = spec;
  const { manifest } = image;
  return {
    ...spec,
    configuration: { ...configuration, plan: plan ?? configuration.plan },
    image:
      command === null
        ? image
        : {
            ...image,
            manifest: { ...manifest, startCommand: searchPathOf(manifest) + command, shownCommand: command },
          },
  };
}

function searchPathOf({ startCommand, releaseCommand = '' }: ImageManifest): string {
  return (SEARCH_PATH.exec(startCommand) ?? SEARCH_PATH.exec(releaseCommand))?.[0] ?? '';
}

/** Returns a command as its author wrote it, without a build's prefix for the PATH. */
export function withoutSearchPath(command: string): string {
  return command.replace(SEARCH_PATH, '');
}
