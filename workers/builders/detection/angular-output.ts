import { isRecord, recordIn, recordOf } from '../files/json-values.js';

export interface AngularOutput {
  /** The folder to which `ng build` writes, relative to the project: `dist/shop`. */
  folder: string;
  /** True if the application renders on a server. */
  isServer: boolean;
}

/** Returns the folders that `ng build` writes, the default project's first; `dist` if none is named. */
export function angularFolders(text: string | undefined): AngularOutput[] {
  const { projects, defaultProject } = recordIn(text) ?? {};
  if (!isRecord(projects)) return [{ folder: 'dist', isServer: false }];
  const named = Object.entries(projects).sort(
    ([a], [b]) => Number(b === defaultProject) - Number(a === defaultProject),
  );
  const found = named.flatMap(([name, project]) => {
    if (!isRecord(project) || project.projectType === 'library') return [];
    const targets = isRecord(project.architect) ? project.architect : recordOf(project.targets);
    const options = recordOf(recordOf(targets.build).options);
    const { outputPath } = options;
    const base = isRecord(outputPath) ? outputPath.base : outputPath;
    const folder = typeof base === 'string' ? base : `dist/${name}`;
    const rendersOnServer = isRecord(options.ssr) || options.ssr === true;
    const isServer = rendersOnServer && options.outputMode !== 'static';
    return /^[\w./@-]+$/.test(folder) ? [{ folder, isServer }] : [];
  });
  return found.length > 0 ? found : [{ folder: 'dist', isServer: false }];
}
