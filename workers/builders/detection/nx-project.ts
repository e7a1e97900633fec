import { filled, isRecord, recordIn, recordOf } from '../files/json-values.js';
import type { ProjectFiles } from '../files/project-files.js';
import type { NxProject } from './application.js';

/** Returns a folder's Nx project, from project.json or package.json; null if it is no application. */
export function nxProject(files: ProjectFiles, folder: string): NxProject | null {
  const value = recordIn(files.text('project.json')) ?? inPackage(recordIn(files.text('package.json')));
  const name = filled(value?.name) ?? folder.split('/').at(-1) ?? '';
  if (value === null || value.projectType === 'library' || name === '' || /(^|-)e2e$/.test(name)) return null;
  const { outputPath } = recordOf(recordOf(recordOf(value.targets).build).options);
  const named = filled(outputPath)?.replace('{workspaceRoot}/', '') ?? null;
  const path = named ?? (folder === '' ? `dist/${name}` : `dist/${folder}`);
  const up = folder === '' ? [] : folder.split('/').map(() => '..');
  return { name, output: /^[\w./@-]{1,300}$/.test(path) ? [...up, path].join('/') : null };
}

/** Returns the Nx project that a package.json describes; null if it has no `build` or `serve` target. */
function inPackage(manifest: Record<string, unknown> | null): Record<string, unknown> | null {
  const nx = manifest?.nx;
  const targets = recordOf(recordOf(nx).targets);
  if (!isRecord(nx) || !(isRecord(targets.build) || isRecord(targets.serve))) return null;
  return { name: manifest?.name, ...nx };
}
