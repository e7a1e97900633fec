import type { ProjectFiles } from '../project-files.js';
import { program, type Tool } from '../toolchains/tool.js';
import { NO_WISHES } from '../toolchains/version-wish.js';
import type { Language, LanguagePlan } from './language.js';

/** The folder of installed packages. It is part of the image and is found relative to the project. */
const PACKAGES = '.python_packages';
const PIP = `python3 -m pip install --target ${PACKAGES}`;
const ENTRY_FILES = ['main.py', 'app.py', 'server.py'];

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
  marks: ['requirements.txt', 'pyproject.toml', 'Pipfile'],
  reads: ['requirements.txt', 'pyproject.toml', 'Pipfile'],
  matches: (files) =>
    ['requirements.txt', 'pyproject.toml', 'Pipfile'].some((name) => files.has(name)) ||
    files.names().some((name) => name.endsWith('.py')),
  plan(files): LanguagePlan {
    const { install, tools } = installation(files);
    const entry = ENTRY_FILES.find((name) => files.has(name));
    return {
      tools: [PYTHON, ...tools],
      versions: NO_WISHES,
      install,
      manifests: manifestsOf(files),
      dependencies: install.length > 0 ? PACKAGES : null,
      build: [],
      start: entry === undefined ? null : `python3 ${entry}`,
      manager: '',
      startAdvice: `name the file that starts it ${ENTRY_FILES.join(', ')}`,
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
    };
  },
};

function installation(files: ProjectFiles): { install: string[]; tools: Tool[] } {
  if (files.has('requirements.txt')) return { install: [`${PIP} -r requirements.txt`], tools: [PIP_TOOL] };
  // Many projects have a pyproject.toml only for the settings of their tools.
  if (/^[ \t]*\[(project|tool\.poetry)\]/m.test(files.text('pyproject.toml') ?? '')) {
    return { install: [`${PIP} .`], tools: [PIP_TOOL] };
  }
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
