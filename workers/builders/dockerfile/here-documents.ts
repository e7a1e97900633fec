const RUN = /^\s*RUN\s+((?:--\S+\s+)*)(.*)$/i;
const SHELL = /^\s*SHELL\s+(\[.*\])\s*$/i;
const HERE_DOCUMENT = /<<(-?)\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\2/;
const USUAL_SHELL = ['/bin/sh', '-c'];

/**
 * Writes each RUN with a here-document as a list of words, which means the same: buildah before 1.33, which Debian 12 has, knows no
 * here-documents. The lines keep their numbers. A here-document that names its own interpreter stays as it is.
 */
export function withoutHereDocuments(dockerfile: string): string {
  const lines = dockerfile.split('\n');
  const written: string[] = [];
  const ends = { exact: new Places(lines), withTabs: new Places(lines.map((line) => line.replace(/^\t+/, ''))) };
  let shell = USUAL_SHELL;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    shell = shellOf(line) ?? shell;
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
  return written.join('\n');
}

/** The line that ends the here-document of a RUN; null if the line is no such RUN, or nothing ends it. */
function endOf(lines: readonly string[], index: number, ends: { exact: Places; withTabs: Places }): number | null {
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
