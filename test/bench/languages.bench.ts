import { existsSync } from 'node:fs';
import { createService } from '../support/deployments.js';
import { type EngineName, type Platform, startPlatform } from '../support/platform.js';
import { startPythonIndex } from '../support/python-index.js';
import { createPlatformRepository } from '../support/repositories.js';
import { PAUSE_MS, startedByHand } from './by-hand.js';
import { measure, print } from './measure.js';
import { printSteps, quiet, report, served } from './served.js';

const ROUNDS = 5;

interface Language {
  figure: 'python' | 'go' | 'php';
  needs: string;
  files: Record<string, string>;
  changed(word: string): Record<string, string>;
  build: readonly string[];
  start: string;
}

const LANGUAGES: readonly Language[] = [
  {
    figure: 'python',
    needs: '/usr/bin/pip3',
    files: { 'requirements.txt': 'greet==1.0\n' },
    changed: (word) => ({
      'app.py': `import os, greet
from wsgiref.simple_server import make_server
def app(environ, respond):
    respond("200 OK", [])
    return [b"${word} " + greet.VERSION.encode()]
make_server("0.0.0.0", int(os.environ["PORT"]), app).serve_forever()
`,
    }),
    build: ['python3 -m pip install -q --disable-pip-version-check --target .python_packages -r requirements.txt'],
    start: 'env PYTHONPATH=.python_packages python3 app.py',
  },
  {
    figure: 'go',
    needs: '/usr/bin/go',
    files: { 'go.mod': 'module example.test/app\n\ngo 1.19\n' },
    changed: (word) => ({
      'main.go': `package main
import ("net/http"; "os")
func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("${word}")) })
	http.ListenAndServe(":"+os.Getenv("PORT"), nil)
}
`,
    }),
    build: ['go build -o app .'],
    start: './app',
  },
  {
    figure: 'php',
    needs: '/usr/bin/php',
    files: {},
    changed: (word) => ({ 'index.php': `<?php echo "${word}";` }),
    build: [],
    start: 'php -S 0.0.0.0:$PORT',
  },
];

/** Measures deployments in other languages than Node.js, in turns with the same work by hand. */
export async function benchLanguages(engine: EngineName): Promise<void> {
  const index = await startPythonIndex(['1.0']);
  const platform = await startPlatform({ engine, env: { PIP_INDEX_URL: index.url } });
  try {
    for (const language of LANGUAGES) {
      if (existsSync(language.needs)) await benchLanguage(platform, language, { PIP_INDEX_URL: index.url });
      else print(`  SKIP: ${language.figure} (${language.needs} is not installed)`);
    }
  } finally {
    await platform.stop();
    await index.stop();
  }
}

async function benchLanguage(
  platform: Platform,
  { figure, files, changed, build, start }: Language,
  variables: Record<string, string>,
): Promise<void> {
  const repository = await createPlatformRepository({ ...files, ...changed('round 0.') });
  try {
    const service = await createService(platform.client, {
      name: figure,
      configuration: { repository: repository.url },
    });
    const hand: number[] = [];
    const ours: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      await repository.commit(`round ${round}`, changed(`round ${round}.`));
      const byHand = await startedByHand(repository.url, build, start, variables);
      const deployed = await measure(() => served(platform, service, `round ${round}.`, PAUSE_MS));
      await quiet(platform);
      // The first deployment fills the caches, as the first build by hand does.
      if (round === 0) continue;
      hand.push(byHand);
      ours.push(deployed);
    }
    report(figure, `${figure} application`, hand, ours);
    await printSteps(platform, service);
  } finally {
    await repository.remove();
  }
}
