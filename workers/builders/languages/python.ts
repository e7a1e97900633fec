import type { ProjectFiles } from '../project-files.js';
import { languageWish, type NamedVersion, versionFile, versionIn } from '../toolchains/language-wish.js';
import { program, type Tool } from '../toolchains/tool.js';
import { withAssets } from './assets.js';
import type { Language, LanguagePlan } from './language.js';
import { pythonStart, START_FILES } from './python-start.js';

const DEPENDENCY_FILES = ['requirements.txt', 'pyproject.toml', 'Pipfile'];
/** The folder of installed packages. It is part of the image and is found relative to the project. */
const PACKAGES = '.python_packages';
const PIP = `python3 -m pip install --target ${PACKAGES}`;

const PYTHON = program('python3', 'install Python 3');
const PIP_TOOL: Tool = { name: 'pip', check: 'python3 -m pip --version', advice: 'install pip for Python 3' };
const PIPENV = program(
  'pipenv',
  'install pipenv, or keep a requirements.txt in the repository',
  'python3 -m pip install pipenv',
);

/** Python projects, recognised by requirements.txt, pyproject.toml, Pipfile or a Python file. */
export const python: Language = {
  runtime: 'python',
  marks: DEPENDENCY_FILES,
  reads: [...DEPENDENCY_FILES, '.python-version', 'runtime.txt', ...START_FILES],
  // Django's pages may have assets that Node.js builds.
  leads: (files) => files.has('manage.py'),
  matches: (files) =>
    DEPENDENCY_FILES.some((name) => files.has(name)) || files.names().some((name) => name.endsWith('.py')),
  plan(files): LanguagePlan {
    const { install, tools } = installation(files);
    const start = pythonStart(files, DEPENDENCY_FILES.map((name) => files.text(name) ?? '').join('\n'));
    return withAssets(files, {
      tools: [PYTHON, ...tools],
      versions: { node: null, manager: null, languages: [languageWish(files, 'python', versionsOf(files))] },
      install,
      manifests: manifestsOf(files),
      dependencies: install.length > 0 ? PACKAGES : null,
      build: start?.build ?? [],
      start: start?.command ?? null,
      manager: '',
      startAdvice: 'name the file that starts it main.py, app.py or server.py',
      searchPath: install.length > 0 ? [`${PACKAGES}/bin`] : [],
      environment: { PYTHONUNBUFFERED: '1', ...(install.length > 0 ? { PYTHONPATH: PACKAGES } : {}) },
      buildEnvironment: {
        PIP_DISABLE_PIP_VERSION_CHECK: '1',
        PIP_NO_INPUT: '1',
        PIP_PROGRESS_BAR: 'off',
        // Compiled files then contain a hash instead of a time, so that equal sources make equal images.
        SOURCE_DATE_EPOCH: '315532800',
      },
      caches: { PIP_CACHE_DIR: 'pip' },
      keptFolders: [],
    });
  },
};

/** What a library says about its own versions is a minimum for an application. */
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

/** Many projects have a pyproject.toml only for the settings of their tools. */
const PROJECT = /^[ \t]*\[(project|tool\.poetry)\]/m;
const LIST_DEPENDENCIES =
  'python3 -c \'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"].get("dependencies", []), sep="\\n")\'';

function installation(files: ProjectFiles): { install: string[]; tools: Tool[] } {
  if (files.has('requirements.txt')) return { install: [`${PIP} -r requirements.txt`], tools: [PIP_TOOL] };
  const project = files.text('pyproject.toml') ?? '';
  const isPackage = /^[ \t]*\[build-system\]/m.test(project) && !/^[ \t]*package-mode[ \t]*=[ \t]*false/m.test(project);
  if (isPackage && PROJECT.test(project)) return { install: [`${PIP} .`], tools: [PIP_TOOL] };
  // An application that is no package names its dependencies only.
  if (/^[ \t]*\[project\]/m.test(project)) {
    return { install: [`${LIST_DEPENDENCIES} >${PACKAGES}.txt`, `${PIP} -r ${PACKAGES}.txt`], tools: [PIP_TOOL] };
  }
  if (PROJECT.test(project)) return { install: [`${PIP} .`], tools: [PIP_TOOL] };
  if (files.has('Pipfile')) {
    const install = [`pipenv requirements >${PACKAGES}.txt`, `${PIP} -r ${PACKAGES}.txt`];
    return { install, tools: [PIP_TOOL, PIPENV] };
  }
  return { install: [], tools: [] };
}

/** Null if requirements name other files of the project, or if the project itself is the package to install. */
function manifestsOf(files: ProjectFiles): string[] | null {
  const text = files.text('requirements.txt');
  if (text !== undefined) {
    const reaches = /^[ \t]*(-[rce]|--(requirement|constraint|editable)|\.|\/)|@\s*file:|(^|\s)\.?\.\//m.test(text);
    return reaches ? null : ['requirements.txt'];
  }
  return files.has('Pipfile') && !files.has('pyproject.toml') ? ['Pipfile', 'Pipfile.lock'].filter(files.has) : null;
}
