import type { Application, Start } from './application.js';

/** What the platform knows of a framework beyond build-info: how it starts, and to which folders it writes a site. */
export interface FrameworkRow {
  name: string;
  /** A project with one of these packages uses the framework. The first matching row counts. */
  packages: readonly string[];
  /** Returns false if a project uses these packages only for a secondary purpose. If absent, the row always applies. */
  applies?: (app: Application) => boolean;
  /** The build command if package.json has no build script. */
  build?: string | ((app: Application) => string | null);
  /** The build command in place of the `build` script, if that script's result cannot be started. */
  buildInstead?: (app: Application) => string | null;
  /** Ways to start, the best first. */
  starts?: (app: Application) => Start[];
  /** Folders to which a site may be built, in order of preference. */
  publish?: (app: Application) => string[];
  singlePage?: (app: Application) => boolean;
  /** Returns true for a start script that is unusable in production, for example because it compiles at each start. */
  replaces?: (app: Application, script: string) => boolean;
  /** Environment variables of the build. `environment` has the variables of the running application. */
  buildEnvironment?: (app: Application) => Record<string, string>;
  environment?: Record<string, string>;
  /** True if the framework's output is for another platform, so that Node.js cannot run it. */
  isForeign?: true;
  /** True for a server library, which decides neither how the project is built nor how it is started. */
  isLibrary?: true;
}

/** Usual paths of an application's HTML page. */
export const PAGES = ['index.html', 'public/index.html', 'src/index.html'];
export const PORT = '$' + '{PORT:-3000}';
export const yes = () => true;
export const start = (command: string, needs: string | null = null): Start => ({ command, needs });
export const startFile = (file: string) => ({ command: `node ${file}`, needs: file });
export const preview = (command: string, needs: string | null = null): Start => ({ command, needs, isPreview: true });
export const vitePreview = (needs: string | null) => preview(`vite preview --host 0.0.0.0 --port ${PORT}`, needs);
export const runs = (command: string) => ({ starts: () => [start(command)] });
export const folder = (...folders: string[]) => ({ publish: () => folders });
/** Returns fields for a single-page application: one page is served for every path. */
export const page = (...folders: string[]) => ({ publish: () => folders, singlePage: yes });

/** Returns true if a path has no characters that are special in a shell. */
export function plain(path: string): boolean {
  return /^[\w./@-]+$/.test(path);
}
