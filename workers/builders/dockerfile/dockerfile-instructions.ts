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
  /**
   * Everything that an engine may take for an instruction: engines differ in whether a line that ends with two escape
   * characters continues. `texts` has the whole file, with continued lines joined.
   */
  readings: { instructions: Instruction[]; texts: string[] };
}

const DIRECTIVE = /^#[ \t]*([a-zA-Z][a-zA-Z0-9]*)[ \t]*=(.*)$/;

/** Parses a Dockerfile in linear time. Lines of here-documents become instructions too, so that a guard misses none. */
export function parseDockerfile(text: string): ParsedDockerfile {
  const lines = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .map(withoutReturns);
  const directives = directivesOf(lines);
  const escapeMark = directives.get('escape') === '`' ? '`' : '\\';
  const always = new RegExp(`\\${escapeMark}[ \\t]*$`);
  const single = new RegExp(`(?<!\\${escapeMark})\\${escapeMark}[ \\t]*$`);
  const joined = [joinLines(lines, always), joinLines(lines, single)];
  const unjoined = lines.map((line) => line.replace(always, ''));
  const [instructions = [], ...others] = [...joined, unjoined].map((logical) => logical.flatMap(instructionOf));
  const texts = joined.map((logical) => logical.join('\n'));
  return { directives, instructions, readings: { instructions: [...instructions, ...others.flat()], texts } };
}

/** Removes carriage returns at the end of a line, in linear time. */
function withoutReturns(line: string): string {
  let end = line.length;
  while (line[end - 1] === '\r') end -= 1;
  return line.slice(0, end);
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

/** Joins continued lines without a space, because a name can continue on the next line. */
function joinLines(lines: readonly string[], continuation: RegExp): string[] {
  const logical: string[] = [];
  let open: string[] = [];
  for (const line of lines) {
    if (/^[\s\u0085]*(?:#|$)/.test(line)) continue;
    const continues = continuation.test(line);
    open.push(continues ? line.replace(continuation, '') : line);
    if (continues) continue;
    logical.push(open.join(''));
    open = [];
  }
  if (open.length > 0) logical.push(open.join(''));
  return logical;
}

const TRIGGERS = /^(?:[\s\u0085]*ONBUILD[\t\v\f\r ]+)+/i;

function instructionOf(line: string): Instruction[] {
  const [, name = '', rest = ''] = /^[\s\u0085]*([a-zA-Z]+)[\t\v\f\r ]+(.*)$/s.exec(line.replace(TRIGGERS, '')) ?? [];
  return name === '' ? [] : [{ name: name.toUpperCase(), rest: rest.trim() }];
}
