import type { Application, Start } from './application.js';

/**
 * What the platform needs beyond the facts that `@netlify/build-info` has about a framework: how it starts in
 * production, and to which folders it writes a site. The functions read only the application's own files.
 */
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
  /** Ways to start, the best first. The first one whose file exists after the build is used. */
  starts?: (app: Application) => Start[];
  /** Folders to which a site may be built, in order of preference. */
  publish?: (app: Application) => string[];
  /** Returns true if one page is served for every path. */
  singlePage?: (app: Application) => boolean;
  /** Returns true for a start script that is unusable in production, for example because it compiles at each start. */
  replaces?: (app: Application, script: string) => boolean;
  /** Environment variables of the build. `environment` has the variables of the running application. */
  buildEnvironment?: (app: Application) => Record<string, string>;
  environment?: Record<string, string>;
  /** True if the framework's output is for another platform, so that Node.js cannot run it. */
  isForeign?: true;
  /**
   * True for a server library, such as Express. A project that depends on one is a server, but the library decides
   * neither how the project is built nor how it is started.
   */
  isLibrary?: true;
}

/** Usual paths of an application's HTML page. */
export const PAGES = ['index.html', 'public/index.html', 'src/index.html'];
export const PORT = '$' + '{PORT:-3000}';
export const yes = () => true;
export const start = (command: string, needs: string | null = null): Start => ({ command, needs });
/** Returns a way to start a file that the build writes. */
export const startFile = (file: string) => ({ command: `node ${file}`, needs: file });
export const preview = (command: string, needs: string | null = null): Start => ({ command, needs, isPreview: true });
export const vitePreview = (needs: string | null) => preview(`vite preview --host 0.0.0.0 --port ${PORT}`, needs);
/** Returns the field `starts` of a row of `FRAMEWORKS`, for a framework that one command starts. */
export const runs = (command: string) => ({ starts: () => [start(command)] });
export const folder = (...folders: string[]) => ({ publish: () => folders });
/** Returns fields of a row of `FRAMEWORKS`, for a single-page application: one page is served for every path. */
export const page = (...folders: string[]) => ({ publish: () => folders, singlePage: yes });

/** Returns true if a path has no characters that are special in a shell. */
export function plain(path: string): boolean {
  return /^[\w./@-]+$/.test(path);
}
