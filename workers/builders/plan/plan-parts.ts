import { isRouted, type ServiceKind } from '../../../shared/services/model.js';
import { BuildError } from '../../failures/explained-errors.js';
import type { ProjectFiles } from '../files/project-files.js';
import type { LanguagePlan } from '../languages/language.js';
import type { Settings } from './plan-model.js';

/** Returns the fields of a language's plan that build plans also have. */
export function shared({
  start: _start,
  startProgram: _startProgram,
  startAdvice: _advice,
  build: _build,
  manager: _manager,
  ...rest
}: LanguagePlan) {
  return rest;
}

/** Returns the start command of the settings, otherwise of the Procfile; null if neither has one. */
export function givenStart(
  files: ProjectFiles,
  kind: ServiceKind,
  { startCommand }: Pick<Settings, 'startCommand'>,
): string | null {
  return startCommand.trim() || procfileCommand(files, kind);
}

export function procfileCommand(files: ProjectFiles, kind: ServiceKind): string | null {
  return lineOfProcfile(files, procfileLine(kind));
}

/** Returns the command of a Procfile entry, such as `web`; null if there is no such entry. */
export function lineOfProcfile(files: ProjectFiles, line: string): string | null {
  return new RegExp(`^${line}:[ \\t]*(\\S.*)$`, 'm').exec(files.text('Procfile') ?? '')?.[1]?.trim() ?? null;
}

function procfileLine(kind: ServiceKind): string {
  return kind === 'worker' || kind === 'cron' ? kind : 'web';
}

/** Throws `BuildError` if a service of this kind cannot be a static site, because it has no address. */
export function assertRouted(kind: ServiceKind): void {
  if (!isRouted(kind)) throw new BuildError(`a static site cannot be a ${kind} service; its kind is static or web`);
}

/** Thrown if a folder is not an application. `detectAndPlan` then looks for one in its subfolders. */
export class NoApplicationError extends BuildError {}

/** Returns the error for a project whose start command is unknown. */
export function noStart(plan: LanguagePlan, kind: ServiceKind, notes: readonly string[] = []): BuildError {
  const line = procfileLine(kind);
  return new NoApplicationError(
    `nothing says how to start it: set startCommand, add a "${line}:" line to a Procfile, or ${plan.startAdvice}` +
      (isRouted(kind) ? '; for a site of files set buildMethod to static' : '') +
      (notes.length > 0 ? ` (${notes.join('; ')})` : ''),
  );
}
