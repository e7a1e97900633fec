const RUN = /^\s*RUN\s+((?:--\S+\s+)*)(.*)$/i;
const SHELL = /^\s*SHELL\s+(\[.*\])\s*$/i;
const HERE_DOCUMENT = /<<(-?)\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/;
const COPY = /^\s*(?:COPY|ADD)\s+((?:--\S+\s+)*)((?:<<-?(["']?)[A-Za-z_][A-Za-z0-9_]*\3\s+)+)(\S+)\s*$/i;
const USUAL_SHELL = ['/bin/sh', '-c'];
/** The name of the additional build context that contains the files of here-documents. */
export const HERE_CONTEXT = 'ranvier-here-documents';

/** A Dockerfile without here-documents, and the files of its context `HERE_CONTEXT`: path → content. */
export interface PlainDockerfile {
  text: string;
  files: Record<string, string>;
}

/**
 * Rewrites here-documents for buildah before 1.33 (in Debian 12), which does not support them. Lines keep their
 * numbers. Skips a RUN whose here-document names an interpreter, and a COPY whose here-document uses variables.
 */
export function withoutHereDocuments(dockerfile: string): PlainDockerfile {
  const lines = dockerfile.split('\n');
  const written: string[] = [];
  const files: Record<string, string> = {};
  const ends = { exact: new Places(lines), withTabs: new Places(lines.map(withoutTabs)) };
  let shell = USUAL_SHELL;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    shell = shellOf(line) ?? shell;
    const asIs: PlainInstruction = { text: line, end: index, files: {} };
    const plain = copyOf(lines, index, ends) ?? runOf(lines, index, ends, shell) ?? asIs;
    Object.assign(files, plain.files);
    written.push(plain.text, ...Array(plain.end - index).fill(''));
    index = plain.end;
  }
  return { text: written.join('\n'), files };
}

interface Ends {
  exact: Places;
  withTabs: Places;
}

/** A rewritten instruction without here-documents. It replaces the lines up to and including `end`. */
interface PlainInstruction extends PlainDockerfile {
  end: number;
}

/** Returns null if the line is no COPY of here-documents, or if a document has no end or uses variables. */
function copyOf(lines: readonly string[], index: number, ends: Ends): PlainInstruction | null {
  const [, flags = '', marks = '', , target] = COPY.exec(lines[index] ?? '') ?? [];
  if (target === undefined) return null;
  const files: Record<string, string> = {};
  let end = index;
  for (const [, dash = '', quote, mark = ''] of marks.matchAll(new RegExp(HERE_DOCUMENT, 'g'))) {
    const next = endOf(ends, dash, end, mark);
    if (next === null) return null;
    const body = bodyOf(lines, dash, end, next);
    if (quote === '' && body.some((line) => line.includes('$'))) return null;
    files[`${index}/${mark}`] = body.map((line) => `${line}\n`).join('');
    end = next;
  }
  const sources = Object.keys(files).map((path) => `/${path}`);
  return { text: `COPY ${flags}--from=${HERE_CONTEXT} ${sources.join(' ')} ${target}`, files, end };
}

/** Returns null if the line is no RUN with a here-document, or if the document has no end or names an interpreter. */
function runOf(lines: readonly string[], index: number, ends: Ends, shell: readonly string[]): PlainInstruction | null {
  const [, flags = '', command = ''] = RUN.exec(lines[index] ?? '') ?? [];
  if (lines[index + 1]?.startsWith('#!')) return null;
  let end = index;
  for (const [, dash = '', , mark = ''] of command.matchAll(new RegExp(HERE_DOCUMENT, 'g'))) {
    // `<<EOF` without a later line `EOF` begins no here-document: it is text of the command, for example in quotes.
    end = endOf(ends, dash, end, mark) ?? end;
  }
  if (end === index) return null;
  const [found, dash = ''] = HERE_DOCUMENT.exec(command) ?? [];
  const script =
    found === command.trim() ? bodyOf(lines, dash, index, end) : [command, ...lines.slice(index + 1, end + 1)];
  return { text: `RUN ${flags}${JSON.stringify([...shell, `${script.join('\n')}\n`])}`, files: {}, end };
}

function endOf(ends: Ends, dash: string, index: number, mark: string): number | null {
  return (dash === '-' ? ends.withTabs : ends.exact).after(index, mark);
}

function bodyOf(lines: readonly string[], dash: string, index: number, end: number): string[] {
  return lines.slice(index + 1, end).map((line) => (dash === '-' ? withoutTabs(line) : line));
}

function withoutTabs(line: string): string {
  return line.replace(/^\t+/, '');
}

/** Finds lines by their text. Calls of `after` must have ascending `index`; together they take linear time. */
class Places {
  readonly #places = new Map<string, { at: number[]; next: number }>();

  constructor(lines: readonly string[]) {
    for (const [index, line] of lines.entries()) {
      const known = this.#places.get(line);
      if (known) known.at.push(index);
      else this.#places.set(line, { at: [index], next: 0 });
    }
  }

  /** Returns the first line after `index` that has this text; null if there is none. */
  after(index: number, text: string): number | null {
    const places = this.#places.get(text);
    if (!places) return null;
    while ((places.at[places.next] ?? Number.POSITIVE_INFINITY) <= index) places.next += 1;
    return places.at[places.next] ?? null;
  }
}

function shellOf(line: string): string[] | null {
  const [, list] = SHELL.exec(line) ?? [];
  try {
    return list === undefined ? null : JSON.parse(list);
  } catch {
    return null;
  }
}
