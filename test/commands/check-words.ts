import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const RULES: readonly { pattern: RegExp; instead: string; where: 'code' | 'comments' }[] = [
  {
    pattern: /\b(MOST|LONGEST|LARGEST|LEAST|SHORTEST|HIGHEST|LOWEST|FEWEST|SMALLEST)(_[A-Z0-9_]+)? =/,
    instead: 'bounds are named MAX_… or MIN_…, with their unit',
    where: 'code',
  },
  { pattern: /\bLOOK(_[A-Z]+)*_MS\b/, instead: 'pauses are named POLL_INTERVAL_MS, waits TIMEOUT_MS', where: 'code' },
  { pattern: /(\/\*\*|\/\/|^\s*\*) The same( |,|;|$)/, instead: 'say what it does, with a verb', where: 'comments' },
  { pattern: /(\/\*\*|\/\/|^\s*\*) Of /, instead: 'begin with the subject', where: 'comments' },
  { pattern: /\b(whom|[Ww]hoever)\b/, instead: 'name the one who acts', where: 'comments' },
  { pattern: /\bor whatever\b|\bbe it\b|\bis it no more\b/, instead: 'name the cases', where: 'comments' },
  { pattern: /\b[Nn]obody\b(?! the user|`)/, instead: 'say what is not done', where: 'comments' },
  {
    pattern: /\b[Ss]o (many|long|often|few)\b(?!.*\bthat\b)/,
    instead: 'name the figure: "this time", "at most this many"',
    where: 'comments',
  },
];
/** In these folders, the first sentence of an exported function's docstring begins with a verb and is short. */
const DOCUMENTED = /^(shared|workers|api\/(admin|auth|cli|git|hooks|http|resources))\//;
const MAX_SENTENCE_LENGTH = 100;
/** The formatter wraps code at this width, and leaves comments as they are. */
const MAX_LINE_LENGTH = 120;
const DOCSTRING = /^ *\/\*\*((?:(?!\*\/)[\s\S])*?)\*\/\n *export (?:async )?function/gm;

function docstringProblem(docstring: string): string | null {
  const text = docstring.replace(/\s*\n \* ?/g, ' ').trim();
  if (!/^[A-Z][a-z-]+s\b/.test(text)) return 'begin with a verb: "Returns …", "Stores …"';
  const [sentence = ''] = text.replace(/ \(specification[^)]*\)/g, '').split(/(?<=[.!?])\s+(?=[A-Z`(])/);
  return sentence.length <= MAX_SENTENCE_LENGTH
    ? null
    : `say it in ${MAX_SENTENCE_LENGTH} characters, and more in a second sentence`;
}

/** These files mention the Unix user `nobody`. */
const EXEMPT = ['shared/launcher/system-user.ts', 'workers/sandbox/sandbox.ts'];

const files = execFileSync('git', [
  'ls-files',
  '--cached',
  '--others',
  '--exclude-standard',
  'api',
  'shared',
  'workers',
])
  .toString()
  .split('\n')
  .filter((path) => /\.tsx?$/.test(path) && !EXEMPT.includes(path));
const problems: string[] = [];
for (const path of files) {
  const text = readFileSync(path, 'utf8');
  text.split('\n').forEach((line, i) => {
    const isComment = /(^|\s)\/\/|^\s*\/?\*/.test(line);
    if (/^\s*(\/?\*|\/\/)/.test(line) && line.length > MAX_LINE_LENGTH)
      problems.push(`${path}:${i + 1}: ${line.trim()}\n    wrap it at ${MAX_LINE_LENGTH} characters`);
    for (const { pattern, instead, where } of RULES) {
      if ((where === 'code' || isComment) && pattern.test(line))
        problems.push(`${path}:${i + 1}: ${line.trim()}\n    ${instead}`);
    }
  });
  if (!DOCUMENTED.test(path)) continue;
  for (const { 1: docstring = '', index } of text.matchAll(DOCSTRING)) {
    const problem = docstringProblem(docstring);
    const line = text.slice(0, index).split('\n').length;
    if (problem !== null) problems.push(`${path}:${line}: ${docstring.trim().slice(0, 120)}\n    ${problem}`);
  }
}
if (problems.length > 0) {
  process.stderr.write(
    `${problems.join('\n')}\n${problems.length} lines. docs/development.md (How we write) has the rules.\n`,
  );
  process.exitCode = 1;
}
