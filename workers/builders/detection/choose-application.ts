import type { ServiceKind } from '../../../shared/services/model.js';
import { recordIn } from '../files/json-values.js';
import type { DetectedProject } from './detected-project.js';
import type { FoundApplication } from './find-applications.js';

export interface Choice {
  application: FoundApplication;
  /** The reason, as the end of a log line that begins with "Builds apps/web, ". */
  why: string;
}

export interface ChoiceInput {
  /** The applications from which to choose. Applications of a workspace are in the order of its packages. */
  applications: readonly FoundApplication[];
  kind: ServiceKind;
  root: Pick<DetectedProject, 'app' | 'files' | 'workspace'>;
}

/** Names that usually mean the application for a product's visitors, the likeliest first. */
const MAIN_NAMES = ['web', 'www', 'app', 'webapp', 'site', 'website', 'frontend', 'client', 'ui', 'main', 'default'];
const SERVER_NAMES = ['server', 'api', 'backend'];
const WORKER_NAMES = ['worker', 'workers', 'jobs', 'queue', 'cron', 'scheduler'];
/** Matches words in folder names of secondary applications, for example for administrators or another platform. */
const BESIDE =
  /^(admin|backoffice|dashboard|studio|cms|docs?|documentation|storybook|design|blog|mobile|native|expo|ios|android|desktop|electron|extension|email|emails|mocks?|e2e|tests?|fixtures?|bench|benchmarks?|examples?|samples?|demos?|templates?|playground|sandbox|starters?|scripts|tools|cloudflare|vercel|netlify|deno)$/;

/**
 * Chooses the application that a service without `rootDirectory` deploys. Returns null if no application is clearly the
 * main one. The first rule that leaves one application decides: scripts of the root, the folder's name, the kind of
 * service, the order of the workspace.
 */
export function chooseMain({ applications: all, kind, root }: ChoiceInput): Choice | null {
  const [only, ...others] = all;
  if (only === undefined) return null;
  if (others.length === 0) return { application: only, why: 'the only application of the repository' };
  const named = namedByRoot(root, all);
  if (named !== null) return named;
  const fitting = kind === 'static' ? preferred(all, ({ makes }) => makes === 'files') : all;
  const called = byName(fitting, namesFor(kind));
  const by = (application: FoundApplication): Choice => ({
    application,
    why: `the main one of ${all.length} applications by its name`,
  });
  if (called !== null) return by(called);
  const likely = preferred(
    fitting,
    (one) => one.framework !== 'Expo' && !wordsOf(one).some((word) => BESIDE.test(word)),
  );
  const isServer = (one: FoundApplication) => wordsOf(one).some((word) => SERVER_NAMES.includes(word));
  const pages = (one: FoundApplication) => one.makes !== null;
  const shown = kind === 'web' ? preferred(preferred(likely, pages), (one) => pages(one) && !isServer(one)) : likely;
  const [first] = shown;
  if (first === undefined) return null;
  if (shown.length === 1) return { application: first, why: `the likeliest of ${all.length} applications` };
  const server = kind === 'web' ? byName(shown, SERVER_NAMES) : null;
  if (server !== null) return by(server);
  const telling = preferred(shown, (one) => wordsOf(one).some((word) => namesFor(kind).includes(word)));
  const [likeliest = first] = telling;
  if (telling.length === 1) return by(likeliest);
  return root.workspace === null
    ? null
    : { application: likeliest, why: `the first of ${all.length} applications of the workspace` };
}

/** Returns the applications that pass the test, or all of them if none does. */
function preferred(
  applications: readonly FoundApplication[],
  test: (application: FoundApplication) => boolean,
): readonly FoundApplication[] {
  const found = applications.filter(test);
  return found.length > 0 ? found : applications;
}

function namesFor(kind: ServiceKind): readonly string[] {
  if (kind === 'worker' || kind === 'cron') return [...WORKER_NAMES, ...SERVER_NAMES];
  if (kind === 'private') return SERVER_NAMES;
  return MAIN_NAMES;
}

/** Returns the application with the first folder name that matches; null if several have that name. */
function byName(applications: readonly FoundApplication[], names: readonly string[]): FoundApplication | null {
  for (const name of names) {
    const named = applications.filter(({ rootDirectory }) => rootDirectory.split('/').at(-1) === name);
    if (named.length > 0) return named.length === 1 ? (named[0] ?? null) : null;
  }
  return null;
}

function wordsOf({ rootDirectory }: FoundApplication): string[] {
  return rootDirectory.toLowerCase().split(/[/._-]/);
}

/** Scripts in the package.json of the root that may run an application, the most significant first. */
const SCRIPTS = ['start', 'start:prod', 'build', 'deploy', 'preview', 'dev', 'serve'];

/** Returns the application that a script of the root runs, as in `yarn workspace web start`; null if none. */
function namedByRoot({ app, files }: ChoiceInput['root'], applications: readonly FoundApplication[]): Choice | null {
  for (const script of SCRIPTS) {
    const text = (app?.manifest.scripts[script] ?? '').slice(0, 4096);
    const words = new Set(text.split(/[\s"'=]+/).map((word) => word.replace(/^\.\//, '').replace(/(\.{3}|:\w+)$/, '')));
    const named = applications.filter(
      ({ rootDirectory, name }) => words.has(rootDirectory) || (name !== null && words.has(name)),
    );
    const [one] = named;
    if (named.length === 1 && one !== undefined) {
      return { application: one, why: `the application that the ${script} script names` };
    }
  }
  const project = defaultProject(files.text('nx.json'));
  const one = project === null ? undefined : applications.find(({ name }) => name === project);
  return one === undefined ? null : { application: one, why: 'the application that nx.json names' };
}

function defaultProject(text: string | undefined): string | null {
  const name = recordIn(text)?.defaultProject;
  return typeof name === 'string' ? name : null;
}
