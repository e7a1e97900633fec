import type { ProjectFiles } from '../files/project-files.js';

/** Lock files whose versions pip must use. */
export const LOCKS = ['uv.lock', 'poetry.lock', 'pdm.lock'];
/** Files that an installation writes: the list of packages to install, and the versions that pip must use. */
const LIST = '.python_packages.txt';
const PINS = '.python_packages.lock';

/** Programs for Python 3.11 and later. Each is one line, because it is passed as a variable in a Dockerfile. */
const PROGRAMS = {
  /**
   * Prints name==version for each package of a lock file that comes from a package index. Leaves out packages with
   * several versions, of which pip chooses one.
   */
  LIST_LOCKED: [
    'import sys, tomllib',
    'packages = [p for p in tomllib.load(open(sys.argv[1], "rb")).get("package", []) if "version" in p]',
    'own = {"git", "path", "url", "editable", "virtual", "directory"}',
    'packages = [p for p in packages if not own & {*p, *p.get("source", {})} and p.get("source", {}).get("type", "legacy") == "legacy"]',
    'names = [p["name"] for p in packages]',
    'print(*[p["name"] + "==" + p["version"] for p in packages if names.count(p["name"]) == 1], sep="\\n")',
  ].join('; '),
  /** Prints the dependencies of a pyproject.toml, from [project] or Poetry's table. */
  LIST_PROJECT: [
    'import re, tomllib',
    'file = tomllib.load(open("pyproject.toml", "rb"))',
    'poetry = file.get("tool", {}).get("poetry", {}).get("dependencies", {})',
    'bound = lambda v: ">=" + v[1:] + ", ==" + (re.match("0\\.[0-9]+|[0-9]+", v[1:]) if v[0] == "^" else re.match("[0-9]+(\\.[0-9]+)?", v[1:])).group() + ".*" if v[:1] in ("^", "~") and v[1:2].isdigit() else "" if v == "*" else "==" + v if v[:1].isdigit() else v',
    'line = lambda n, v: n + " @ git+" + v["git"] + ("@" + str(v.get("rev") or v.get("tag") or v.get("branch")) if {"rev", "tag", "branch"} & {*v} else "") if "git" in v else n + ("[" + ",".join(v["extras"]) + "]" if "extras" in v else "") + bound(v.get("version", "*")) + ("; " + v["markers"] if "markers" in v else "")',
    'tables = {n: v if isinstance(v, dict) else {"version": v} for n, v in poetry.items() if n.lower() != "python"}',
    'print(*file.get("project", {}).get("dependencies", []), *[line(n, v) for n, v in tables.items() if not v.get("optional")], sep="\\n")',
  ].join('; '),
  /** Prints the packages that Pipfile.lock pins, otherwise those that the Pipfile lists. */
  LIST_PIPFILE: [
    'import json, os, tomllib',
    'packages = json.load(open("Pipfile.lock"))["default"] if os.path.exists("Pipfile.lock") else tomllib.load(open("Pipfile", "rb")).get("packages", {})',
    'tables = {n: v if isinstance(v, dict) else {"version": v} for n, v in packages.items()}',
    'print(*[n + " @ git+" + v["git"] + ("@" + v["ref"] if "ref" in v else "") if "git" in v else n + ("[" + ",".join(v["extras"]) + "]" if "extras" in v else "") + v.get("version", "").replace("*", "", v.get("version") == "*") + ("; " + v["markers"] if "markers" in v else "") for n, v in tables.items()], sep="\\n")',
  ].join('; '),
};

export interface PythonInstallation {
  commands: string[];
  environment: Record<string, string>;
}

/** Returns the pip commands that install a project's dependencies, in the versions of its lock file. */
export function pythonInstallation(files: ProjectFiles, pip: string): PythonInstallation {
  if (files.has('requirements.txt')) return using([`${pip} -r requirements.txt`]);
  const project = files.text('pyproject.toml') ?? '';
  // Many projects have a pyproject.toml only for settings of their tools, without one of these tables.
  if (/^[ \t]*\[(project|tool\.poetry)\]/m.test(project)) {
    const isPackage =
      /^[ \t]*\[build-system\]/m.test(project) && !/^[ \t]*package-mode[ \t]*=[ \t]*false/m.test(project);
    const lock = LOCKS.find(files.has);
    const pinned = lock === undefined ? pip : `${pip} -c ${PINS}`;
    return using([
      ...(lock === undefined ? [] : [['LIST_LOCKED', ` ${lock} >${PINS}`] as const]),
      // A project that is not a package cannot be installed, but a list of its dependencies can.
      ...(isPackage ? [`${pinned} .`] : [['LIST_PROJECT', ` >${LIST}`] as const, `${pinned} -r ${LIST}`]),
    ]);
  }
  return using(files.has('Pipfile') ? [['LIST_PIPFILE', ` >${LIST}`], `${pip} -r ${LIST}`] : []);
}

function using(
  commands: readonly (string | readonly [program: keyof typeof PROGRAMS, rest: string])[],
): PythonInstallation {
  const environment = Object.fromEntries(
    commands.flatMap((command) => (typeof command === 'string' ? [] : [[command[0], PROGRAMS[command[0]]]])),
  );
  const lines = commands.map((command) =>
    typeof command === 'string' ? command : `python3 -c "$${command[0]}"${command[1]}`,
  );
  return { commands: lines, environment };
}
