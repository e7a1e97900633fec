import type { Project } from '../api-types.js';
import type { Cli } from '../cli.js';
import { oneLine } from '../terminal-text.js';

export const CREATE_PROJECT = 'rnv projects create <name> makes a project with a first environment, Production.';

export async function projectsOf(cli: Cli): Promise<Project[]> {
  const api = await cli.client();
  return (await api.get<{ projects: Project[] }>('/projects')).projects;
}

export async function list(cli: Cli): Promise<void> {
  const projects = await projectsOf(cli);
  const rows = projects.map(({ id, name, environments }) => [
    oneLine(name),
    oneLine(environments.map((each) => each.name).join(', ')),
    id,
  ]);
  cli.printRows({ projects }, rows, `There are no projects. ${CREATE_PROJECT}`);
}

export async function create(cli: Cli, name: string, { color }: { color: string }): Promise<void> {
  const api = await cli.client();
  const { project } = await api.write<{ project: Project }>('POST', '/projects', { name, color });
  if (cli.json) return cli.terminal.json({ project });
  cli.terminal.data(project.id);
  const [first] = project.environments;
  if (first !== undefined) cli.terminal.say(oneLine(`Its environment is ${project.name}/${first.name}`));
}
