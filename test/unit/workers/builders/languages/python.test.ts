import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { python } from '../../../../../workers/builders/languages/python.js';

const plan = (texts: Record<string, string>) => python.plan(projectFiles(Object.keys(texts), texts));
const MANAGE = `os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'mysite.settings')`;
const DJANGO = { 'manage.py': MANAGE, 'mysite/wsgi.py': '', 'mysite/asgi.py': '' };

/** Files of a project → its start command. */
const STARTS: Record<string, [texts: Record<string, string>, start: string | null]> = {
  'Django with gunicorn': [
    { ...DJANGO, 'requirements.txt': 'Django==5.0\ngunicorn\n' },
    'gunicorn --bind 0.0.0.0:$PORT mysite.wsgi',
  ],
  'Django with uvicorn': [
    { ...DJANGO, 'requirements.txt': 'django\nuvicorn[standard]>=0.2\n' },
    'uvicorn --host 0.0.0.0 --port $PORT mysite.asgi:application',
  ],
  'Django alone': [{ ...DJANGO, 'requirements.txt': 'django' }, 'python3 manage.py runserver --noreload 0.0.0.0:$PORT'],
  'Flask with gunicorn': [
    { 'app.py': 'from flask import Flask\napi = Flask(__name__)\n', 'requirements.txt': 'flask\ngunicorn==22\n' },
    `gunicorn --bind 0.0.0.0:$PORT 'app:api'`,
  ],
  'Flask alone': [
    { 'main.py': 'app = Flask(__name__)\n', 'requirements.txt': 'Flask>=2\n' },
    'python3 -m flask --app main run --host 0.0.0.0 --port $PORT',
  ],
  'a factory of Flask': [
    { 'app/__init__.py': 'def create_app():\n    app = Flask(__name__)\n', 'requirements.txt': 'flask\ngunicorn' },
    `gunicorn --bind 0.0.0.0:$PORT 'app:create_app()'`,
  ],
  FastAPI: [
    {
      'app/main.py': 'app: FastAPI = FastAPI(title="x")\n',
      'pyproject.toml': '[project]\ndependencies = ["fastapi[standard]"]\n',
    },
    'python3 -m uvicorn --host 0.0.0.0 --port $PORT app.main:app',
  ],
  Streamlit: [
    { 'streamlit_app.py': '', 'requirements.txt': 'streamlit' },
    'streamlit run streamlit_app.py --server.address 0.0.0.0 --server.port $PORT --server.headless true',
  ],
  'a plain file': [{ 'server.py': 'print(1)' }, 'python3 server.py'],
  'a library': [{ 'pyproject.toml': '[project]\n', 'src/x.py': '' }, null],
};

describe('The plan of a Python project', () => {
  for (const [name, [texts, start]] of Object.entries(STARTS)) {
    it(`starts ${name}`, () => expect(plan(texts).start).to.equal(start));
  }

  it('collects the static files of Django if it says where to', () => {
    expect(plan(DJANGO).build).to.deep.equal([
      `if grep -rqs '^ *STATIC_ROOT' mysite; then python3 manage.py collectstatic --noinput; fi`,
    ]);
  });

  it('installs a package as a whole, and of an application its dependencies', () => {
    const project = '[project]\nname = "x"\ndependencies = ["flask"]\n';
    expect(plan({ 'pyproject.toml': `${project}[build-system]\nrequires = []\n` }).install.join()).to.match(
      /pip install .* \.$/,
    );
    expect(plan({ 'pyproject.toml': project }).install).to.have.length(2);
    expect(plan({ 'pyproject.toml': '[tool.ruff]\n' }).install).to.deep.equal([]);
  });

  it('takes a version from its files, and a minimum as a wish only', () => {
    const wish = (texts: Record<string, string>) => plan(texts).versions.languages?.[0]?.wish;
    expect(wish({ 'runtime.txt': 'python-3.11.4\n' })).to.deep.equal({ range: '~3.11.4', source: 'runtime.txt' });
    expect(wish({ 'pyproject.toml': 'requires-python = ">=3.9,<4"\n' })).to.deep.include({
      range: '>=3.9 <4',
      optional: true,
    });
  });
});
