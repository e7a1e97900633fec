import { expect } from 'chai';
import { finishReading, MAX_SOURCES, type StoredTemplate } from '../../shared/templates/store.js';
import { expectError, type Json, type TestApi, type TestWorkspace, useTestApi } from '../support/api.js';

const REPOSITORY = 'https://user:secret-word@git.example.com/team/templates.git';
const TEXT = `
title: Blog
description: A blog
categories: [Publishing]
website: https://blog.example.com
source: https://git.example.com/blog
version: 1.2.3
memoryMb: 100
questions: [{ name: title, label: The title, pattern: '^[A-Z]' }]
stack:
  services:
    blog: { kind: web, repository: starter:node, startCommand: node ., variables: { TITLE: "\${title}" } }
`;
const BLOG: StoredTemplate = {
  ...{ name: 'blog', title: 'Blog', description: 'A blog', categories: ['Publishing'], version: '1.2.3' },
  ...{ website: 'https://blog.example.com', source: 'https://git.example.com/blog', checked: null, memoryMb: 100 },
  questions: [
    {
      ...{ name: 'title', label: 'The title', help: '', type: 'text', default: '', example: '', pattern: '^[A-Z]' },
      ...{ required: true, secret: false },
    },
  ],
  text: TEXT,
};

describe('Template sources', () => {
  let api: TestApi;
  let workspace: TestWorkspace;

  useTestApi((given) => ({ api } = given));
  beforeEach(async () => {
    workspace = await api.workspace();
  });

  const sources = () => `${workspace.path}/template-sources`;
  const add = (body: object = {}) =>
    workspace.owner.client.post(sources(), { name: 'team', repository: REPOSITORY, ...body });
  const list = async (): Promise<Json[]> => (await workspace.owner.client.get(sources())).body.templateSources;
  async function read(outcome: Parameters<typeof finishReading>[2]): Promise<Json> {
    const { id } = (await add()).body.templateSource;
    await finishReading(api.db, id, outcome);
    return (await list())[0] as Json;
  }
  const found = { commitSha: 'a'.repeat(40), templates: [BLOG], problems: [{ file: 'x.yaml', message: 'no' }] };

  it('are read by a worker, and keep the address sealed', async () => {
    const { status, body } = await add();
    expect(status).to.equal(201);
    expect(body.templateSource).to.include({ name: 'team', branch: 'main', state: 'reading', commitSha: null });
    expect(JSON.stringify(body)).to.not.contain('secret-word');
    const [row] = await api.db('template_sources').where({ workspace_id: workspace.id });
    expect(row.sealed_repository.toString('latin1')).to.not.contain('secret-word');
    await finishReading(api.db, row.id, found);
    const [source] = await list();
    expect(source).to.include({ state: 'ready', commitSha: 'a'.repeat(40), error: '' });
    expect(source?.templates).to.deep.equal(['team.blog']);
    expect(source?.problems).to.deep.equal(found.problems);
  });

  it('give templates to their workspace alone, which are listed, read, filled and planned', async () => {
    await read(found);
    const { client } = workspace.owner;
    const { templates } = (await client.get(`${workspace.path}/templates`)).body;
    expect(templates.at(-1)).to.include({ name: 'team.blog', title: 'Blog' }).and.not.have.property('text');
    expect(templates.map((one: Json) => one.name)).to.include('node-red');
    const { template } = (await client.get(`${workspace.path}/templates/team.blog`)).body;
    expect(template.document).to.contain(`TITLE: "\${title}"`);
    const values = { title: 'News' };
    const filled = await client.post(`${workspace.path}/templates/team.blog/fill`, { values });
    expect(filled.body.document).to.contain('TITLE: "News"');
    const { project } = (await client.post(`${workspace.path}/projects`, { name: 'News', color: 'blue' })).body;
    const stack = { name: 'news', environmentId: project.environments[0].id, template: 'team.blog', values };
    const plan = await client.post(`${workspace.path}/stacks/plan`, stack);
    expect(plan.status, JSON.stringify(plan.body)).to.equal(200);
    expect(plan.body.document).to.contain('News');
    const unfit = await client.post(`${workspace.path}/templates/team.blog/fill`, { values: { title: 'news' } });
    expectError(unfit, 400, 'invalid_request');
    expect(unfit.body.error.details[0]).to.include({ path: '/values/title' });
    const other = await api.workspace();
    expectError(await other.owner.client.get(`${other.path}/templates/team.blog`), 404, 'not_found');
  });

  it('keep their templates when a later reading fails', async () => {
    const { id } = await read(found);
    const { client } = workspace.owner;
    const again = await client.post(`${sources()}/${id}/refresh`);
    expect(again.status).to.equal(202);
    expect(again.body.templateSource).to.include({ state: 'reading' });
    await client.post(`${sources()}/${id}/refresh`);
    expect((await api.db('template_sources').where({ id }).first()).dispatches).to.equal(2);
    await finishReading(api.db, id, { error: 'the repository is gone' });
    expect((await list())[0]).to.deep.include({
      ...{ state: 'failed', error: 'the repository is gone', templates: ['team.blog'] },
    });
    expect((await client.delete(`${sources()}/${id}`)).status).to.equal(200);
    expectError(await client.get(`${workspace.path}/templates/team.blog`), 404, 'not_found');
    expectError(await client.delete(`${sources()}/${id}`), 404, 'not_found');
  });

  it('are refused with a bad address, a name that is taken, and as the eleventh', async () => {
    expectError(await add({ repository: 'ftp://git.example.com/x' }), 400, 'source_invalid');
    expectError(await add({ name: 'Team' }), 400, 'invalid_request');
    expect((await add()).status).to.equal(201);
    expectError(await add(), 409, 'conflict');
    for (let i = 1; i < MAX_SOURCES; i++) expect((await add({ name: `t${i}` })).status).to.equal(201);
    expectError(await add({ name: 'more' }), 409, 'capacity_exceeded');
    const viewer = await workspace.member('viewer');
    expectError(await viewer.client.post(sources(), { name: 'v', repository: REPOSITORY }), 403, 'forbidden');
  });
});
