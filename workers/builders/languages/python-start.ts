import type { ProjectFiles } from '../files/project-files.js';

/** Files that may define a web application, in order of precedence. */
const ENTRIES = ['app', 'main', 'server', 'wsgi', 'asgi', 'api', 'application', 'run', 'index'].flatMap((name) => [
  `${name}.py`,
  `src/${name}.py`,
  `app/${name}.py`,
]);
/** Files to run directly if they define no application of a known framework. */
const PLAIN = ['main.py', 'app.py', 'server.py', 'run.py', 'src/main.py'];
export const START_FILES = ['manage.py', ...ENTRIES, 'app/__init__.py', 'streamlit_app.py'];

const WSGI = '(?:\\w+\\.)?(?:Flask|Bottle|Falcon)';
const ASGI = '(?:\\w+\\.)?(?:FastAPI|Starlette|Litestar|Quart|Sanic)';
/** Matches `app = Flask(` and `app: FastAPI = FastAPI(`. */
const made = (framework: string) => new RegExp(`^(\\w{1,60})\\s{0,4}(?::[^=\\n]{1,80})?=\\s{0,4}${framework}\\(`, 'm');
const [MADE_WSGI, MADE_ASGI] = [made(WSGI), made(ASGI)];

export interface PythonStart {
  command: string;
  /** Commands that the framework needs in the build. */
  build: string[];
}

/** Returns how to start a Python project; null if unknown. `dependencies` is the text that names its packages. */
export function pythonStart(files: ProjectFiles, dependencies: string): PythonStart | null {
  const has = (name: string) =>
    new RegExp(`(^|[\\s"'\\[,])${name}(?=$|[\\s"'\\[\\]<>=~!;,@(])`, 'im').test(dependencies);
  const django = djangoStart(files, has);
  if (django !== null) return django;
  const streamlit = ['streamlit_app.py', ...PLAIN].find(files.has);
  if (has('streamlit') && streamlit !== undefined) {
    const flags = '--server.address 0.0.0.0 --server.port $PORT --server.headless true';
    return { command: `streamlit run ${streamlit} ${flags}`, build: [] };
  }
  const command = applicationStart(files, has) ?? plainStart(files);
  return command === null ? null : { command, build: [] };
}

function djangoStart(files: ProjectFiles, has: (name: string) => boolean): PythonStart | null {
  if (!files.has('manage.py')) return null;
  const settings = /DJANGO_SETTINGS_MODULE["']\s{0,4},\s{0,4}["']([\w.]{1,200})["']/.exec(
    files.text('manage.py') ?? '',
  )?.[1];
  const own = settings?.split('.settings')[0];
  if (own === undefined) return null;
  const folder = own.replaceAll('.', '/');
  const hasWsgi = files.has(`${folder}/wsgi.py`);
  const command =
    has('gunicorn') && hasWsgi
      ? `gunicorn --bind 0.0.0.0:$PORT ${own}.wsgi`
      : has('uvicorn') && files.has(`${folder}/asgi.py`)
        ? `uvicorn --host 0.0.0.0 --port $PORT ${own}.asgi:application`
        : 'python3 manage.py runserver --noreload 0.0.0.0:$PORT';
  const collect = `if grep -rqs '^ *STATIC_ROOT' ${folder}; then python3 manage.py collectstatic --noinput; fi`;
  return { command, build: [collect] };
}

function applicationStart(files: ProjectFiles, has: (name: string) => boolean): string | null {
  for (const file of [...ENTRIES, 'app/__init__.py']) {
    const text = files.text(file);
    if (text === undefined) continue;
    const module = file.replace(/(\/__init__)?\.py$/, '').replaceAll('/', '.');
    const asgi = MADE_ASGI.exec(text)?.[1];
    if (asgi !== undefined) return asgiStart(`${module}:${asgi}`, has);
    const isFactory = /^def create_app\(/m.test(text) && /\bFlask\(/.test(text);
    const wsgi = MADE_WSGI.exec(text)?.[1] ?? (isFactory ? 'create_app()' : undefined);
    if (wsgi === undefined) continue;
    if (has('gunicorn')) return `gunicorn --bind 0.0.0.0:$PORT '${module}:${wsgi}'`;
    if (has('waitress'))
      return `waitress-serve --listen=0.0.0.0:$PORT ${isFactory ? '--call ' : ''}${module}:${wsgi.replace('()', '')}`;
    if (has('flask')) return `python3 -m flask --app ${module} run --host 0.0.0.0 --port $PORT`;
  }
  return null;
}

function asgiStart(application: string, has: (name: string) => boolean): string {
  if (has('hypercorn')) return `hypercorn --bind 0.0.0.0:$PORT ${application}`;
  return `python3 -m uvicorn --host 0.0.0.0 --port $PORT ${application}`;
}

function plainStart(files: ProjectFiles): string | null {
  const file = PLAIN.find(files.has);
  return file === undefined ? null : `python3 ${file}`;
}
