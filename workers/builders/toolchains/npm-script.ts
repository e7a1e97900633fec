import { quote } from '../../core/quote.js';

/** The fields of package.json that npm uses to run a script. */
export interface NpmPackage {
  name?: unknown;
  version?: unknown;
  config?: unknown;
  engines?: unknown;
  bin?: unknown;
  scripts: Readonly<Record<string, unknown>>;
}

/** Matches `npm start`, `npm run start` and the like, without further arguments. */
const RUNS_SCRIPT = /^npm (?:(start)|run(?:-script)? ([\w:.-]+))$/;
/** Maximum length of a generated command. If it would be longer, npm itself runs the script. */
const MAX_COMMAND_LENGTH = 64 * 1024;

/**
 * Returns a shell command for `npm start` or `npm run <script>`; null for any other command. `npm` itself would take
 * half a second at each start of a replica, and then stay in memory.
 */
export function scriptCommand(command: string, pkg: NpmPackage): string | null {
  const [, start, name = start] = RUNS_SCRIPT.exec(command.trim()) ?? [];
  if (name === undefined) return null;
  const script = textOf(pkg.scripts[name]);
  if (script === null) return null;
  const before = textOf(pkg.scripts[`pre${name}`]);
  const after = textOf(pkg.scripts[`post${name}`]);
  const run = (event: string, text: string, last: boolean) =>
    `${last ? 'exec ' : ''}env ${quote(`npm_lifecycle_event=${event}`)} ${quote(`npm_lifecycle_script=${text}`)} /bin/sh -c ${quote(last ? inPlace(text) : text)}`;
  const parts = [
    ...(before === null ? [] : [run(`pre${name}`, before, false)]),
    run(name, script, after === null),
    ...(after === null ? [] : [run(`post${name}`, after, true)]),
  ];
  const lines = [
    // npm searches the node_modules of the project and of each folder above it for programs.
    `folder=$PWD bins=; while [ -n "$folder" ]; do bins=$bins$folder/node_modules/.bin:; folder=\${folder%/*}; done`,
    'PATH=$bins/node_modules/.bin:$PATH npm_package_json=$PWD/package.json INIT_CWD=$PWD',
    'npm_node_execpath=$(command -v node) NODE=$npm_node_execpath npm_execpath=$(readlink -f "$(command -v npm)")',
    `npm_command=${start === undefined ? 'run-script' : 'start'}`,
    ...Object.entries(packageVariables(pkg)).map(([variable, value]) => `${variable}=${quote(value)}`),
  ];
  const variables = 'PATH npm_package_json INIT_CWD npm_node_execpath NODE npm_execpath npm_command';
  const exported = [variables, ...Object.keys(packageVariables(pkg))].join(' ');
  const text = `${lines.join('; ')}; unset folder bins; export ${exported}; ${parts.join(' && ')}`;
  return text.length > MAX_COMMAND_LENGTH || text.includes('\0') ? null : text;
}

/** Returns the variables that npm sets for a script: `config.port` becomes `npm_package_config_port`. */
export function packageVariables({ name, version, config, engines, bin }: NpmPackage): Record<string, string> {
  const programs = typeof bin === 'string' && typeof name === 'string' ? { [name.replace(/^@[^/]*\//, '')]: bin } : bin;
  const found: Record<string, string> = {};
  collect({ name, version, config, engines, bin: programs }, 'npm_package_', found);
  return found;
}

function collect(values: object, prefix: string, found: Record<string, string>): void {
  for (const [key, value] of Object.entries(values)) {
    const name = `${prefix}${key}`;
    if (value === undefined) continue;
    if (Array.isArray(value))
      for (const [i, item] of value.entries()) collect({ [`${key}_${i}`]: item }, prefix, found);
    else if (typeof value === 'object' && value !== null) collect(value, `${name}_`, found);
    // A shell does not pass variables with other characters to its children.
    else if (/^\w+$/.test(name)) found[name] = value === null || value === false ? '' : String(value);
  }
}

/** Matches keywords and builtins of the shell, before which `exec` cannot stand. */
const OWN_WORDS =
  /^(\.|:|\[|\{|!|alias|break|case|cd|command|continue|echo|eval|exec|exit|export|false|for|getopts|hash|if|kill|local|printf|pwd|read|readonly|return|set|shift|test|time|times|trap|true|type|ulimit|umask|unset|until|wait|while)$/;

/** Puts `exec` before a plain command, because the shell would otherwise stay in memory. */
export function inPlace(script: string): string {
  if (/[;&|<>()`\n\r#]/.test(script)) return script;
  const [, assignments = '', program = ''] =
    /^\s*((?:[A-Za-z_]\w*=[^\s"'\\]*\s+)*)([\w@%+:./-]+)(?=\s|$)/.exec(script) ?? [];
  if (program === '' || OWN_WORDS.test(program)) return script;
  return `${assignments}exec ${script.trimStart().slice(assignments.length)}`;
}

function textOf(script: unknown): string | null {
  return typeof script === 'string' && script.trim() !== '' ? script : null;
}
