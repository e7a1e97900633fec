import type { ImageManifest } from '../../shared/images/model.js';
import type { RunRow } from '../../shared/runs/model.js';
import type { ReleaseSpec } from '../runtime/runtime-driver.js';

/** Matches the prefix that a build adds to commands to put the project's folders first in PATH. */
const SEARCH_PATH = /^export PATH="[^"]{1,1000}"; /;

/** Returns the release with a run's own command and plan, if the run has them. */
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

/** Returns a command as its author wrote it, without the PATH prefix that the build added. */
export function withoutSearchPath(command: string): string {
  return command.replace(SEARCH_PATH, '');
}
