import { isRecord, isText, recordIn, recordOf } from '../files/json-values.js';
import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import { versionFile } from '../toolchains/version-files.js';
import { wishesFor } from '../toolchains/version-wish.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';

const CONFIGURATIONS = ['deno.json', 'deno.jsonc'];
const ENTRY_FILES = ['main', 'server', 'app', 'index', 'mod'].flatMap((name) =>
  ['ts', 'tsx', 'js'].map((extension) => `${name}.${extension}`),
);
/** Matches code that only programs for Deno contain. */
const USES_DENO =
  /\bDeno\.(serve|env|listen|readTextFile)\b|\bfrom\s+["'](jsr:|npm:|https:\/\/(deno\.land|esm\.sh|jsr\.io)\/)/;
/** The folder of modules that the application imports. They are part of its image. */
const MODULES = '.deno';

/** Deno projects, recognised by deno.json or by a program that uses Deno's own features. */
export const deno: Language = {
  runtime: 'deno',
  marks: CONFIGURATIONS,
  reads: [...CONFIGURATIONS, '.dvmrc', '.deno-version', ...ENTRY_FILES],
  matches: (files) =>
    CONFIGURATIONS.some(files.has) || ENTRY_FILES.some((name) => USES_DENO.test(files.text(name) ?? '')),
  // A deno.json alone does not show that a project runs on Deno: many Node.js projects have one for their editor.
  leads: (files) => {
    const { start, build } = recordOf(recordIn(files.text('package.json'))?.scripts);
    const isNodes = isText(start) || isText(build);
    return CONFIGURATIONS.some(files.has) && !isNodes && (tasksOf(files).has('start') || files.has('deno.lock'));
  },
  plan(files): LanguagePlan {
    const tasks = tasksOf(files);
    const entry = ENTRY_FILES.find(files.has);
    const hasConfiguration = CONFIGURATIONS.some(files.has);
    const hasPackage = files.has('package.json');
    return {
      ...EMPTY_PLAN,
      versions: wishesFor(
        languageWish(files, 'deno', [versionFile(files, '.dvmrc'), versionFile(files, '.deno-version')]),
      ),
      install: hasConfiguration || hasPackage ? ['deno install'] : [],
      // With a package.json, or with one of these fields in deno.json, the installation also depends on other files.
      manifests:
        hasPackage || /"(nodeModulesDir|vendor|workspace|links|patch)"/.test(configurationOf(files))
          ? null
          : [...CONFIGURATIONS, 'deno.lock', '.npmrc'].filter(files.has),
      dependencies: hasConfiguration || hasPackage ? MODULES : null,
      build: [
        ...(tasks.has('build') ? ['deno task build'] : []),
        ...(entry === undefined ? [] : [`deno cache ${entry}`]),
      ],
      start: startOf(tasks, entry, entry === undefined ? '' : (files.text(entry) ?? '')),
      startAdvice: 'add a task "start" to deno.json, or name the file that starts it main.ts',
      environment: { DENO_DIR: MODULES, DENO_NO_UPDATE_CHECK: '1', DENO_NO_PROMPT: '1' },
    };
  },
};

/** Returns the start command. Prefers a task that does not watch files, because a watching task is for developers. */
function startOf(tasks: ReadonlyMap<string, string>, entry: string | undefined, text: string): string | null {
  const watches = (name: string) => /--watch\b|\bdev\.ts\b/.test(tasks.get(name) ?? '');
  const task = ['start', 'preview', 'serve'].find((name) => tasks.has(name) && !watches(name));
  if (task !== undefined) return `deno task ${task}`;
  if (entry === undefined) return tasks.has('start') ? 'deno task start' : null;
  const rights = '--allow-net --allow-env --allow-read';
  const isHandler = /\bexport\s+default\b[^;]{0,200}\bfetch\b/.test(text);
  return isHandler ? `deno serve --host 0.0.0.0 --port $PORT ${rights} ${entry}` : `deno run ${rights} ${entry}`;
}

function configurationOf(files: ProjectFiles): string {
  return CONFIGURATIONS.map((name) => files.text(name)).find((text) => text !== undefined) ?? '';
}

/** Returns the command of each task; none if the configuration is invalid, because Deno itself reports the error. */
function tasksOf(files: ProjectFiles): ReadonlyMap<string, string> {
  const plain = configurationOf(files)
    .replace(/("(?:\\.|[^"\\\n])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '$1')
    .replace(/,(?=\s*[}\]])/g, '');
  const entries = Object.entries(recordOf(recordIn(plain)?.tasks)).map(([name, task]) => {
    const command = isRecord(task) ? task.command : task;
    return [name, isText(command) ? command : ''] as const;
  });
  return new Map(entries);
}
