export interface Row {
  name: string;
  works: boolean;
  seconds: number;
  /** What the build's log says was detected, and the error if the deployment failed. */
  detail: string;
}

const HEAD = `# Frameworks

What goes live with nothing but its address and kind. \`npm run test:frameworks\` makes each project with its generator,
deploys it on a platform of its own, looks at its page, and writes this table. The seconds count from the request to the live
page, on a machine with two cores that did other work as well. A project of the list that has no row here was not tried yet.

| project | live | seconds | detected |
|---|---|---|---|
`;

/** Writes the document with these rows. Other rows, and sections below the table, come from the previous document. */
export function writeTable(before: string, rows: readonly Row[], order: readonly string[]): string {
  const further = before.indexOf('\n## ');
  const lines = new Map(
    before
      .split('\n')
      .filter((line) => /^\| .* \| (yes|no) \|/.test(line))
      .map((line) => [line.split(' | ')[0]?.slice(2) ?? '', line]),
  );
  for (const { name, works, seconds, detail } of rows) {
    const cell = detail.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
    lines.set(name, `| ${name} | ${works ? 'yes' : 'no'} | ${seconds} | ${cell} |`);
  }
  const table = order.flatMap((name) => lines.get(name) ?? []).join('\n');
  return `${HEAD}${table}\n${further < 0 ? '' : before.slice(further)}`;
}
