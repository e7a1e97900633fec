import type { DetectedProject } from '../../workers/builders/detection/detected-project.js';
import { readManifest } from '../../workers/builders/files/package-manifest.js';
import type { ProjectFiles } from '../../workers/builders/files/project-files.js';

/** Returns a project of these files, without a workspace and without settings of other platforms. */
export function plainProject(files: ProjectFiles): DetectedProject {
  const text = files.text('package.json');
  const app = text === undefined ? null : { files, manifest: readManifest(text), framework: null, nx: null };
  const pages = files.has('index.html') ? ['.'] : [];
  return { folder: '', files, app, workspace: null, platforms: [], pages, notes: [] };
}
