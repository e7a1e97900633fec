import { join, relative } from 'node:path';
import { BuildError } from '../../failures/explained-errors.js';
import { isBelow } from '../../sandbox/sandbox-plan.js';
import type { PackedContent } from '../engine-images/pack-folders.js';
import { fileInside, folderInside, textInside } from '../files/project-files.js';
import { declaredArguments, guardDockerfile, stagesOf } from './dockerfile-guard.js';

export interface DockerfileInput {
  /** The folder of the repository's files. Neither path contains symbolic links. */
  app: string;
  /** The project's folder in `app`. */
  project: string;
  dockerContext: string;
  dockerfilePath: string;
  /** The stage that is built; empty for the last one. */
  dockerfileTarget: string;
  /** The text of a Dockerfile that is used instead of the repository's; empty for none. */
  dockerfileText: string;
  /** Variables of the build. The Dockerfile gets those that it declares by `ARG`. */
  variables: Record<string, string>;
  ownPrefix: string | null;
}

export interface DockerfileBuild {
  content: Pick<PackedContent, 'folders'> & { files: Record<string, string> };
  /** The Dockerfile's path in the context. */
  dockerfile: string;
  buildArgs: Record<string, string>;
  /** Lines for the build's log. */
  notes: string[];
}

/** The Dockerfile's name in the build context if its file is outside of the context, or if a setting has its text. */
const OUTSIDE = '.ranvier.Dockerfile';
/** BuildKit and buildah accept these build arguments without an `ARG`, and keep them out of an image's history. */
export const PREDEFINED_ARGUMENT = /^(http|https|ftp|no|all)_proxy$/i;
const MAX_IGNORES = 1000;
const MAX_IGNORE_LENGTH = 1024;
const MAX_IGNORES_BYTES = 64 * 1024;

/**
 * Reads the Dockerfile of a build. `dockerContext` and `dockerfilePath` are relative to the project's folder. If the
 * Dockerfile is not there, it is looked for in the context. Throws `BuildError`.
 */
export async function readDockerfile(input: DockerfileInput): Promise<DockerfileBuild> {
  const { app, project, dockerContext, dockerfilePath, variables, ownPrefix } = input;
  const context = await folderInside(app, join(relative(app, project), dockerContext), 'dockerContext');
  const { written, dockerfile, ignored } = input.dockerfileText
    ? { written: input.dockerfileText, dockerfile: OUTSIDE, ignored: undefined }
    : await dockerfileOf(app, project, context, dockerfilePath);
  assertStage(written, input.dockerfileTarget);
  const ignore = ignorePatterns(ignored ?? (await textInside(context, '.dockerignore')) ?? '');
  const buildArgs = declared(written, variables);
  const { text, notes } = guardDockerfile(written, { buildArgs, ownPrefix });
  return {
    content: {
      folders: [{ at: '', path: context, ignore }],
      files: { [dockerfile]: text },
    },
    dockerfile,
    buildArgs,
    notes,
  };
}

/** Finds and reads the Dockerfile. In the result, `ignored` is the text of `<Dockerfile>.dockerignore`. */
async function dockerfileOf(app: string, project: string, context: string, dockerfilePath: string) {
  const beside = await textInside(context, dockerfilePath);
  const isBeside = beside !== undefined && (await textInside(project, dockerfilePath)) === undefined;
  const folder = isBeside ? context : project;
  const path = await fileInside(app, join(relative(app, folder), dockerfilePath), 'dockerfilePath');
  return {
    written: (await textInside(app, relative(app, path))) ?? '',
    dockerfile: isBelow(path, context) ? relative(context, path) : OUTSIDE,
    ignored: await textInside(app, `${relative(app, path)}.dockerignore`),
  };
}

function assertStage(dockerfile: string, target: string): void {
  const stages = stagesOf(dockerfile);
  // A numeric target is the index of a stage.
  const isStage = stages.includes(target.toLowerCase()) || /^\d+$/.test(target);
  if (!target || isStage) return;
  const has = stages.length === 0 ? 'names no stage' : `has: ${stages.join(', ')}`;
  throw new BuildError(`dockerfileTarget "${target}" is no stage of the Dockerfile, which ${has}`);
}

function ignorePatterns(text: string): string[] {
  if (text.length > MAX_IGNORES_BYTES) {
    throw new BuildError(`.dockerignore is larger than ${MAX_IGNORES_BYTES / 1024} KiB; shorten it`);
  }
  const patterns = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (patterns.length > MAX_IGNORES)
    throw new BuildError(`.dockerignore has more than ${MAX_IGNORES} patterns; combine some`);
  const long = patterns.find((pattern) => pattern.length > MAX_IGNORE_LENGTH);
  if (long !== undefined) {
    throw new BuildError(
      `.dockerignore has a pattern of more than ${MAX_IGNORE_LENGTH} characters: "${long.slice(0, 60)}…"`,
    );
  }
  return patterns;
}

function declared(dockerfile: string, variables: Record<string, string>): Record<string, string> {
  const names = declaredArguments(dockerfile);
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) => names.has(name) || PREDEFINED_ARGUMENT.test(name)),
  );
}
