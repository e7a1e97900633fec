import { nodeServer } from '../support/apps.js';
import type { Behaviour, HostileTenant } from './hostile-tenant.js';

const BUILDS_BY_COMMAND: Record<string, string> = {
  'build: fork bomb': 'f() { while :; do f & done; }; f',
  'build: deep folders': `node -e "const n = 'd'.repeat(200); for (let i = 0; i < 40; i++) { fs.mkdirSync(n); process.chdir(n); }"; exit 1`,
  'build: deep folders in its home': `cd && node -e "const n = 'd'.repeat(200); for (let i = 0; i < 40; i++) { fs.mkdirSync(n); process.chdir(n); }"; exit 1`,
  'build: empty lines': `yes ''`,
  'build: long line': `head -c 500000000 /dev/zero | tr '\\0' x; exit 1`,
  'build: memory hog': `node -e "const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1))"`,
  'build: many files': `node -e "for (let i = 0; i < 200000; i++) fs.writeFileSync('f' + i, '')"; exit 1`,
  'build: ignores TERM': `trap '' TERM; while :; do sleep 1; done`,
};

const BUILDS_BY_FILES: Record<string, Record<string, string>> = {
  'build: quadratic pyproject': {
    'main.py': 'print(1)\n',
    'pyproject.toml': `[project]\n${'\n'.repeat(1_000_000)}dependencies = ["x"]\n`,
  },
  'build: large package.json': {
    'package.json': `{"name":"app","scripts":{${Array.from({ length: 50_000 }, (_, i) => `"s${i}":"true"`).join(',')}}}`,
    'index.js': '',
  },
};

export const BUILDS: readonly Behaviour[] = [
  ...Object.entries(BUILDS_BY_COMMAND).map(([name, buildCommand]) => ({
    name,
    act: (tenant: HostileTenant, signal: AbortSignal) => tenant.host(nodeServer('hostile'), { buildCommand }, signal),
  })),
  ...Object.entries(BUILDS_BY_FILES).map(([name, files]) => ({
    name,
    act: (tenant: HostileTenant, signal: AbortSignal) => tenant.host(files, {}, signal),
  })),
  {
    name: 'build: ignorePaths that backtrack',
    act: (tenant: HostileTenant, signal: AbortSignal) =>
      tenant.host(
        { ...nodeServer('hostile'), [`${'a'.repeat(200)}/x`]: '' },
        { ignorePaths: [`${'**/*a*'.repeat(20)}b`] },
        signal,
      ),
  },
] satisfies readonly Behaviour[];
