const RUN = /^\s*RUN\s+((?:--\S+\s+)*)(.*)$/i;
const SHELL = /^\s*SHELL\s+(\[.*\])\s*$/i;
const HERE_DOCUMENT = /<<(-?)\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/;
const COPY = /^\s*(?:COPY|ADD)\s+((?:--\S+\s+)*)((?:<<-?(["']?)[A-Za-z_][A-Za-z0-9_]*\3\s+)+)(\S+)\s*$/i;
const USUAL_SHELL = ['/bin/sh', '-c'];
/** The name of the build context that has the files of here-documents. */
export const HERE_CONTEXT = 'ranvier-here-documents';

/** A Dockerfile without here-documents, and the files of its context `HERE_CONTEXT`: path → content. */
export interface PlainDockerfile {
  text: string;
  files: Record<string, string>;
}

/**
 * Writes each RUN with a here-document as a list of words, and each COPY of one as a COPY from `HERE_CONTEXT`, which mean the same: buildah
 * before 1.33, which Debian 12 has, knows no here-documents. The lines keep their numbers. A here-document that names its own interpreter,
 * or that needs the variables of the Dockerfile in a file, stays as it is.
 */
export function withoutHereDocuments(dockerfile: string): PlainDockerfile {
  const lines = dockerfile.split('\n');
  const written: string[] = [];
  const files: Record<string, string> = {};
  const ends = { exact: new Places(lines), withTabs: new Places(lines.map((line) => line.replace(/^\t+/, ''))) };
  let shell = USUAL_SHELL;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    shell = shellOf(line) ?? shell;
    const copied = copyOf(lines, index, ends);
    if (copied !== null) {
      Object.assign(files, copied.files);
      written.push(copied.text, ...Array(copied.end - index).fill(''));
      index = copied.end;
      continue;
    }
    const end = endOf(lines, index, ends);
    if (end === null) {
      written.push(line);
      continue;
    }
    const [, flags = '', command = ''] = RUN.exec(line) ?? [];
    const body = lines.slice(index + 1, end);
    const isScript = command.trim().startsWith('<<') && HERE_DOCUMENT.exec(command)?.[0] === command.trim();
    const keepsTabs = !command.includes('<<-');
    const script = isScript
      ? body.map((each) => (keepsTabs ? each : each.replace(/^\t+/, '')))
      : [command, ...body, lines[end]];
    written.push(`RUN ${flags}${JSON.stringify([...shell, `${script.join('\n')}\n`])}`, ...Array(end - index).fill(''));
    index = end;
  }
  return { text: written.join('\n'), files };
}

interface Ends {
  exact: Places;
  withTabs: Places;
}

/** The COPY of here-documents at a line, as a COPY from `HERE_CONTEXT`; null if the line is no such COPY, or a document has no end. */
function copyOf(lines: readonly string[], index: number, ends: Ends) {
  const [, flags = '', marks = '', , target] = COPY.exec(lines[index] ?? '') ?? [];
  if (target === undefined) return null;
  const files: Record<string, string> = {};
  let end = index;
  for (const [, dash, quote, mark = ''] of marks.matchAll(new RegExp(HERE_DOCUMENT, 'g'))) {
    const next = (dash === '-' ? ends.withTabs : ends.exact).after(end, mark);
    if (next === null) return null;
    const body = lines.slice(end + 1, next).map((line) => (dash === '-' ? line.replace(/^\t+/, '') : line));
    if (quote === '' && body.some((line) => line.includes('$'))) return null;
    files[`${index}/${mark}`] = body.map((line) => `${line}\n`).join('');
    end = next;
  }
  const sources = Object.keys(files).map((path) => `/${path}`);
  return { text: `COPY ${flags}--from=${HERE_CONTEXT} ${sources.join(' ')} ${target}`, files, end };
}

/** The line that ends the here-document of a RUN; null if the line is no such RUN, or nothing ends it. */
function endOf(lines: readonly string[], index: number, ends: Ends): number | null {
  const [, , command] = RUN.exec(lines[index] ?? '') ?? [];
  const [, dash, , mark] = (command === undefined ? null : HERE_DOCUMENT.exec(command)) ?? [];
  if (mark === undefined || lines[index + 1]?.startsWith('#!')) return null;
  return (dash === '-' ? ends.withTabs : ends.exact).after(index, mark);
}

/** Where texts stand among lines. Questions must come in the order of the lines; together they take linear time. */
class Places {
  readonly #places = new Map<string, { at: number[]; next: number }>();

  constructor(lines: readonly string[]) {
    for (const [index, line] of lines.entries()) {
      const known = this.#places.get(line);
      if (known) known.at.push(index);
      else this.#places.set(line, { at: [index], next: 0 });
    }
  }

  /** The first line after `index` that is the text; null if there is none. */
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
