import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import type { Tool } from '../toolchains/required-tool.js';
import { type NamedVersion, versionFile, versionIn } from '../toolchains/version-files.js';
import { wishesFor } from '../toolchains/version-wish.js';
import { withAssets } from './assets.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';
import { LOCKS, pythonInstallation } from './python-requirements.js';
import { pythonStart, START_FILES } from './python-start.js';

const DEPENDENCY_FILES = ['requirements.txt', 'pyproject.toml', 'Pipfile'];
/** The folder of installed packages. It is part of the image; its path is relative to the project. */
const PACKAGES = '.python_packages';
const PIP = `python3 -m pip install --target ${PACKAGES}`;

const PIP_TOOL: Tool = { name: 'pip', check: 'python3 -m pip --version', advice: 'install pip for Python 3' };

/** Python projects, recognised by requirements.txt, pyproject.toml, Pipfile or a Python file. */
export const python: Language = {
  runtime: 'python',
  marks: DEPENDENCY_FILES,
  reads: [...DEPENDENCY_FILES, '.python-version', 'runtime.txt', ...START_FILES],
  // A project with manage.py counts as Python even if it has a package.json, which only builds assets.
  leads: (files) => files.has('manage.py'),
  matches: (files) =>
    DEPENDENCY_FILES.some((name) => files.has(name)) || files.names().some((name) => name.endsWith('.py')),
  plan(files): LanguagePlan {
    const { commands: install, environment } = pythonInstallation(files, PIP);
    const start = pythonStart(files, DEPENDENCY_FILES.map((name) => files.text(name) ?? '').join('\n'));
    return withAssets(files, {
      ...EMPTY_PLAN,
      tools: install.length > 0 ? [PIP_TOOL] : [],
      versions: wishesFor(languageWish(files, 'python', versionsOf(files))),
      install,
      manifests: manifestsOf(files),
      dependencies: install.length > 0 ? PACKAGES : null,
      build: start?.build ?? [],
      start: start?.command ?? null,
      startAdvice: 'name the file that starts it main.py, app.py or server.py',
      searchPath: install.length > 0 ? [`${PACKAGES}/bin`] : [],
      environment: { PYTHONUNBUFFERED: '1', ...(install.length > 0 ? { PYTHONPATH: PACKAGES } : {}) },
      buildEnvironment: {
        ...environment,
        PIP_DISABLE_PIP_VERSION_CHECK: '1',
        PIP_NO_INPUT: '1',
        PIP_PROGRESS_BAR: 'off',
        // With this variable, compiled files contain a hash instead of a time, so that equal sources give equal images.
        SOURCE_DATE_EPOCH: '315532800',
      },
      caches: { PIP_CACHE_DIR: 'pip' },
    });
  },
};

/** Returns versions in order of precedence. `requires-python` is only a preference: it is meant for libraries. */
function versionsOf(files: ProjectFiles): (NamedVersion | null)[] {
  const minimum = versionIn(files, 'pyproject.toml', /^requires-python\s*=\s*["']([^"'\n]{1,80})["']/m);
  const pipenv = versionIn(files, 'Pipfile', /^python_version\s*=\s*"([^"\n]{1,40})"/m);
  return [
    versionFile(files, '.python-version'),
    versionFile(files, 'runtime.txt'),
    pipenv,
    minimum && { ...minimum, source: 'requires-python in pyproject.toml', optional: true },
  ];
}

/** Returns the files that alone determine what is installed; null if the installation may read others. */
function manifestsOf(files: ProjectFiles): string[] | null {
  const text = files.text('requirements.txt');
  if (text !== undefined) {
    const reaches = /^[ \t]*(-[rce]|--(requirement|constraint|editable)|\.|\/)|@\s*file:|(^|\s)\.?\.\//m.test(text);
    return reaches ? null : ['requirements.txt'];
  }
  const project = files.text('pyproject.toml');
  if (project === undefined) return files.has('Pipfile') ? ['Pipfile', 'Pipfile.lock'].filter(files.has) : null;
  const isPackage = /^[ \t]*\[build-system\]/m.test(project) || /\bpath[ \t]*=|\bworkspace[ \t]*=|file:/.test(project);
  return isPackage ? null : ['pyproject.toml', ...LOCKS].filter(files.has);
}
