import { expect } from 'chai';
import type { Client, Json } from './api.js';

let names = 0;

/** Creates a project through the API, and returns it with its `path`. */
export async function newProject(client: Client, workspacePath: string, fields: Json = {}): Promise<Json> {
  const body = { name: `project ${++names}`, color: 'violet', ...fields };
  const response = await client.post(`${workspacePath}/projects`, body);
  expect(response.status, JSON.stringify(response.body)).to.equal(201);
  const { project } = response.body;
  const [environment] = project.environments;
  return {
    ...project,
    path: `${workspacePath}/projects/${project.id}`,
    /** Places a service in the project's Production environment. */
    placement: { projectId: project.id, environmentId: environment.id },
  };
}

/** Adds an environment to a project, and returns it with `path` and `placement`. */
export async function addEnvironment(client: Client, project: Json, fields: Json = {}): Promise<Json> {
  const response = await client.post(`${project.path}/environments`, { name: `environment ${++names}`, ...fields });
  expect(response.status, JSON.stringify(response.body)).to.equal(201);
  const { environment } = response.body;
  return {
    ...environment,
    path: `${project.path}/environments/${environment.id}`,
    placement: { projectId: project.id, environmentId: environment.id },
  };
}

/** Creates an environment group, and returns it with its `path`. */
export async function newGroup(client: Client, workspacePath: string, fields: Json = {}): Promise<Json> {
  const response = await client.post(`${workspacePath}/environment-groups`, { name: `group ${++names}`, ...fields });
  expect(response.status, JSON.stringify(response.body)).to.equal(201);
  const { environmentGroup } = response.body;
  return { ...environmentGroup, path: `${workspacePath}/environment-groups/${environmentGroup.id}` };
}

export async function link(client: Client, group: Json, service: Json): Promise<void> {
  const response = await client.post(`${group.path}/services`, { serviceId: service.id });
  expect(response.status, JSON.stringify(response.body)).to.equal(200);
}
