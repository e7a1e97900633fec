import type { Environment, Project, StackApply } from '../api-types.js';
import type { Cli } from '../cli.js';
import { CliError, EXIT } from '../exit-codes.js';
import { oneLine } from '../terminal-text.js';
import type { WaitOptions } from '../wait-until.js';
import { CREATE_PROJECT, projectsOf } from './projects.js';
import { environmentNamed, followApply, readValues } from './stacks.js';

export interface CreateEnvironmentOptions extends WaitOptions {
  project?: string;
  protected?: boolean;
  cloneFrom?: string;
  data?: string;
  values?: string;
  deploy?: boolean;
}

interface Created {
  environment: Environment;
  clone?: { stack: string; apply: StackApply; warnings: string[] };
}

export async function list(cli: Cli): Promise<void> {
  const projects = await projectsOf(cli);
  const rows = projects.flatMap((project) =>
    project.environments.map(({ id, name, protected: isProtected }) => [
      oneLine(`${project.name}/${name}`),
      isProtected ? 'protected' : '',
      id,
    ]),
  );
  const empty = projects.length === 0 ? `There are no environments. ${CREATE_PROJECT}` : undefined;
  cli.printRows({ projects }, rows, empty);
}

/** Creates an environment. If it is a clone, waits for the apply that creates its services. */
export async function create(cli: Cli, name: string, options: CreateEnvironmentOptions): Promise<void> {
  const cloneFrom = options.cloneFrom === undefined ? undefined : await environmentNamed(cli, options.cloneFrom);
  const project = await projectOf(cli, options.project, cloneFrom);
  const values = options.values === undefined ? undefined : await readValues(cli, options.values);
  const body = { name, protected: options.protected, cloneFrom, data: options.data, deploy: options.deploy, values };
  const api = await cli.client();
  const created = await api.write<Created>('POST', `/projects/${project.id}/environments`, body);
  const { environment, clone } = created;
  if (clone === undefined || options.detach) return cli.printData(created, environment.id);
  for (const warning of clone.warnings) cli.terminal.complain(oneLine(warning));
  await followApply(cli, clone.stack, clone.apply.id, options.timeout);
}

async function projectOf(cli: Cli, named: string | undefined, cloneFrom: string | undefined): Promise<Project> {
  const projects = await projectsOf(cli);
  const found = projects.filter(({ id, name, environments }) =>
    named === undefined ? environments.some((each) => each.id === cloneFrom) : [id, name].includes(named),
  );
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (projects.length === 0) throw new CliError(EXIT.notFound, `There are no projects. ${CREATE_PROJECT}`);
  const names = projects.map((project) => `  ${oneLine(project.name)}`).join('\n');
  throw new CliError(
    found.length === 0 && named !== undefined ? EXIT.notFound : EXIT.usage,
    `Which project? Give --project:\n${names}`,
  );
}
