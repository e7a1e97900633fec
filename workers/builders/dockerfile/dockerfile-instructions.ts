/** One instruction of a Dockerfile. Continued lines are joined. */
export interface Instruction {
  /** The instruction in upper case, such as `FROM`. For `ONBUILD RUN …`, this is the triggered instruction, `RUN`. */
  name: string;
  rest: string;
}

export interface ParsedDockerfile {
  /** Directives at the top, such as `# escape=`. Names are in lower case. */
  directives: ReadonlyMap<string, string>;
  instructions: Instruction[];
  /** The text with continued lines joined, so that each instruction is on one line. */
  joined: string;
}

const DIRECTIVE = /^#[ \t]*([a-zA-Z][a-zA-Z0-9]*)[ \t]*=(.*)$/;

/**
 * Parses a Dockerfile in linear time. Lines of here-documents count as instructions too, so that a search for
 * forbidden instructions misses none.
 */
export function parseDockerfile(text: string): ParsedDockerfile {
  const lines = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  const directives = directivesOf(lines);
  const escapeMark = directives.get('escape') === '`' ? '`' : '\\';
  const logical = joinLines(lines, escapeMark);
  return { directives, instructions: logical.flatMap(instructionOf), joined: logical.join('\n') };
}

function directivesOf(lines: readonly string[]): Map<string, string> {
  const directives = new Map<string, string>();
  for (const line of lines[0]?.startsWith('#!') ? lines.slice(1) : lines) {
    const [, name, value] = DIRECTIVE.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined) break;
    directives.set(name.toLowerCase(), value.trim());
  }
  return directives;
}

function joinLines(lines: readonly string[], escapeMark: string): string[] {
  const logical: string[] = [];
  let open: string[] = [];
  for (const line of lines) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const continues = trimmed.endsWith(escapeMark);
    open.push(continues ? trimmed.slice(0, -1) : trimmed);
    if (continues) continue;
    // Continued lines are joined without a space, because a name can continue on the next line.
    logical.push(open.join(''));
    open = [];
  }
  if (open.length > 0) logical.push(open.join(''));
  return logical;
}

function instructionOf(line: string): Instruction[] {
  const [, name = '', rest = ''] = /^([a-zA-Z]+)[ \t]+(.*)$/s.exec(line) ?? [];
  if (name === '') return [];
  if (name.toUpperCase() === 'ONBUILD') return instructionOf(rest.trim());
  return [{ name: name.toUpperCase(), rest: rest.trim() }];
}
