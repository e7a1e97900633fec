import { quoteIfNeeded } from '../../core/quote.js';
import { recordIn, recordOf } from '../files/json-values.js';
import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import { type NamedVersion, versionIn } from '../toolchains/version-files.js';
import { type LanguageWish, wishesFor } from '../toolchains/version-wish.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';

const PUBLISHED = '.ranvier/app';
const PROJECT = /\.(cs|fs|vb)proj$/;
/** Matches the usual name of the application's project in a solution with several projects. */
const SERVER_NAME = /(^|[.\s_-])(web|api|server|app|host|site)$|(web|api|server|app|host|site)$/i;
const TEST_NAME = /tests?$|\.tests?\.|benchmarks?$/i;

/** .NET projects in C#, F# or Visual Basic. Of a solution with several projects, only the application is built. */
export const dotnet: Language = {
  runtime: 'dotnet',
  marks: ['*.csproj', '*.fsproj', '*.sln'],
  reads: ['*.csproj', '*.fsproj', '*.vbproj', '*.sln', '*.slnx', 'global.json', 'Directory.Build.props'],
  matches: (files) => files.names().some((name) => PROJECT.test(name) || /\.slnx?$/.test(name)),
  leads: (files) => files.names().some((name) => PROJECT.test(name)),
  plan(files): LanguagePlan {
    const project = projectOf(files);
    const text = (project === null ? undefined : files.text(project)) ?? '';
    const isProgram = project !== null && !/<OutputType>\s*Library\s*</i.test(text);
    return {
      ...EMPTY_PLAN,
      versions: wishesFor(versionOf(files, project)),
      build: project === null ? [] : [`dotnet publish ${quoteIfNeeded(project)} -c Release -o ${PUBLISHED}`],
      start: isProgram
        ? `ASPNETCORE_URLS="\${ASPNETCORE_URLS:-http://0.0.0.0:$PORT}" dotnet ${quoteIfNeeded(`${PUBLISHED}/${assemblyOf(project, text)}.dll`)}`
        : null,
      startAdvice: 'set rootDirectory to the folder of the project that is the application',
      // Lets a newer runtime run a project that was built for an older one.
      environment: { DOTNET_ROLL_FORWARD: 'Major', DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1' },
      buildEnvironment: { DOTNET_SKIP_FIRST_TIME_EXPERIENCE: '1', MSBUILDDISABLENODEREUSE: '1' },
      caches: { NUGET_PACKAGES: 'nuget', DOTNET_CLI_HOME: 'dotnet' },
    };
  },
};

/** Returns the project file to build: the folder's own, otherwise the solution's; null unless exactly one fits. */
function projectOf(files: ProjectFiles): string | null {
  const own = files.names().filter((name) => PROJECT.test(name));
  if (own.length > 0) return only(own);
  const solutions = files.names().filter((name) => /\.slnx?$/.test(name));
  const paths = solutions.flatMap((name) =>
    [...(files.text(name) ?? '').matchAll(/"([^"\n]{1,300}\.(?:cs|fs|vb)proj)"/g)].map(([, path = '']) =>
      path.replaceAll('\\', '/'),
    ),
  );
  return only([...new Set(paths)].filter((path) => !path.startsWith('/') && !path.split('/').includes('..')));
}

function only(paths: readonly string[]): string | null {
  const programs = paths.filter((path) => !TEST_NAME.test(nameOf(path)));
  const servers = programs.filter((path) => SERVER_NAME.test(nameOf(path)));
  const [one, other] = programs.length > 1 ? servers : programs;
  return one !== undefined && other === undefined ? one : null;
}

function nameOf(path: string): string {
  return (path.split('/').at(-1) ?? path).replace(PROJECT, '');
}

function assemblyOf(project: string, text: string): string {
  return /<AssemblyName>\s*([\w.-]{1,200})\s*</.exec(text)?.[1] ?? nameOf(project);
}

function versionOf(files: ProjectFiles, project: string | null): LanguageWish {
  const named = languageWish(files, 'dotnet', [globalVersion(files)]);
  if (named.wish !== null) return named;
  const target = /<TargetFrameworks?>[^<]*?net(?:coreapp)?(\d{1,2}\.\d)/;
  const sources = [...(project === null ? [] : [project]), 'Directory.Build.props'];
  const least = sources.map((file) => versionIn(files, file, target)).find((found) => found !== null);
  return languageWish(files, 'dotnet', least ? [{ ...least, text: `>=${least.text}`, lowest: true }] : []);
}

/** Returns the SDK version in global.json, as the range of versions that its field `rollForward` allows. */
function globalVersion(files: ProjectFiles): NamedVersion | null {
  const { version, rollForward = 'latestPatch' } = recordOf(recordIn(files.text('global.json'))?.sdk);
  if (typeof version !== 'string') return null;
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  const source = 'sdk.version in global.json';
  if (patch === undefined) return { text: version, source };
  const policy = String(rollForward)
    .replace(/^latest/, '')
    .toLowerCase();
  const until: Readonly<Record<string, string>> = {
    disable: `${version}`,
    // In a version such as 8.0.302, the hundreds digit of the last number is the feature band.
    patch: `>=${version} <${major}.${minor}.${(Math.floor(Number(patch) / 100) + 1) * 100}`,
    feature: `>=${version} <${major}.${Number(minor) + 1}`,
    minor: `>=${version} <${Number(major) + 1}`,
  };
  return { text: until[policy] ?? `>=${version}`, source };
}
