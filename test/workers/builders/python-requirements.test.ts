import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { projectFiles } from '../../../workers/builders/files/project-files.js';
import { python } from '../../../workers/builders/languages/python.js';

const run = promisify(execFile);
const REGISTRY = '{ registry = "https://pypi.org/simple" }';

/** Files of a project → pip's commands, the requirements that they install, and the constraints. */
const PROJECTS: readonly [
  name: string,
  files: Record<string, string>,
  pip: string[],
  list: string[],
  pins: string[],
][] = [
  [
    'uv, as a package',
    {
      'pyproject.toml': '[project]\nname = "shop"\n[build-system]\nrequires = ["hatchling"]\n',
      'uv.lock': `[[package]]\nname = "shop"\nversion = "0.1.0"\nsource = { editable = "." }
[[package]]\nname = "flask"\nversion = "3.0.1"\nsource = ${REGISTRY}
[[package]]\nname = "numpy"\nversion = "1.0"\nsource = ${REGISTRY}\n[[package]]\nname = "numpy"\nversion = "2.0"\nsource = ${REGISTRY}\n`,
    },
    ['-c .python_packages.lock .'],
    [],
    ['flask==3.0.1'],
  ],
  [
    'uv, as an application',
    { 'pyproject.toml': '[project]\ndependencies = ["flask>=3", "gunicorn"]\n' },
    ['-r .python_packages.txt'],
    ['flask>=3', 'gunicorn'],
    [],
  ],
  [
    'Poetry, as an application',
    {
      'pyproject.toml': `[tool.poetry]\npackage-mode = false
[tool.poetry.dependencies]\npython = "^3.11"\nflask = "^3.0"\ntiny = "^0.4.1"\nnear = "~1.2.3"\nexact = "1.0"\nany = "*"\nbounds = ">=1,<3"
uvicorn = { version = "^0.30", extras = ["standard"], markers = "sys_platform == 'linux'" }\nskipped = { version = "1", optional = true }
fork = { git = "https://git.example.com/fork.git", tag = "v1" }
[build-system]\nrequires = ["poetry-core"]\n`,
      'poetry.lock':
        '[[package]]\nname = "flask"\nversion = "3.0.2"\n[[package]]\nname = "fork"\nversion = "1"\n[package.source]\ntype = "git"\nurl = "x"\n',
    },
    ['-c .python_packages.lock -r .python_packages.txt'],
    [
      'flask>=3.0, ==3.*',
      'tiny>=0.4.1, ==0.4.*',
      'near>=1.2.3, ==1.2.*',
      'exact==1.0',
      'any',
      'bounds>=1,<3',
      "uvicorn[standard]>=0.30, ==0.30.*; sys_platform == 'linux'",
      'fork @ git+https://git.example.com/fork.git@v1',
    ],
    ['flask==3.0.2'],
  ],
  [
    'PDM',
    {
      'pyproject.toml': '[project]\ndependencies = ["flask"]\n',
      'pdm.lock':
        '[[package]]\nname = "flask"\nversion = "3.0.3"\n[[package]]\nname = "own"\nversion = "1"\npath = "./own"\n',
    },
    ['-c .python_packages.lock -r .python_packages.txt'],
    ['flask'],
    ['flask==3.0.3'],
  ],
  [
    'Pipenv with a lock file',
    {
      Pipfile: '[packages]\nflask = "*"\n',
      'Pipfile.lock': JSON.stringify({
        default: { flask: { version: '==3.0.0', extras: ['async'], markers: "python_version >= '3.8'" } },
        develop: { pytest: { version: '==8' } },
      }),
    },
    ['-r .python_packages.txt'],
    ["flask[async]==3.0.0; python_version >= '3.8'"],
    [],
  ],
  [
    'Pipenv without a lock file',
    { Pipfile: '[packages]\nflask = "*"\ngunicorn = {version = ">=20", extras = ["gevent"]}\n' },
    ['-r .python_packages.txt'],
    ['flask', 'gunicorn[gevent]>=20'],
    [],
  ],
];

describe('The requirements of a Python project', () => {
  let folder: string;
  let hasToml = false;

  before(async () => {
    hasToml = await run('python3', ['-c', 'import tomllib']).then(
      () => true,
      () => false,
    );
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ranvier-python-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  for (const [name, files, pip, list, pins] of PROJECTS) {
    it(`${name} (needs Python 3.11)`, async function () {
      if (!hasToml) this.skip();
      for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
      const plan = python.plan(projectFiles(Object.keys(files), files));
      const isPip = (command: string) => command.includes(' pip ');
      expect(plan.install.filter(isPip).map((command) => command.split('.python_packages ')[1])).to.deep.equal(pip);
      const env = { PATH: process.env.PATH, ...plan.buildEnvironment };
      for (const command of plan.install.filter((line) => !isPip(line))) {
        await run('sh', ['-c', command], { cwd: folder, env });
      }
      const lines = async (file: string) =>
        (await readFile(join(folder, file), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
      expect(await lines('.python_packages.txt')).to.deep.equal(list);
      expect(await lines('.python_packages.lock')).to.deep.equal(pins);
    });
  }
});
