import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { v7 as uuidv7 } from 'uuid';
import { Sensitive } from '../../shared/core/sensitive.js';
import { Keyring } from '../../shared/secrets/keyring.js';
import { SEALED_COLUMNS } from '../../shared/secrets/sealed-columns.js';
import { nodeServer } from '../support/apps.js';
import { createService, deploy, ended, queueDeploy, type Service } from '../support/deployments.js';
import { type Platform, usePlatform } from '../support/platform.js';
import { eventually, PlatformProcess } from '../support/processes.js';
import type { TestRepository } from '../support/repositories.js';

const ADMIN = fileURLToPath(new URL('../../api/admin/main.js', import.meta.url));
const MANY = 3000;

describe('Rotation of the secrets key', function () {
  this.timeout(240_000);
  let platform: Platform;
  let repository: TestRepository;
  let service: Service;
  let variableId: string;
  let first: string;
  const [oldKey = '', newKey = '', strange = ''] = [1, 2, 3].map(() => randomBytes(32).toString('base64'));
  const idOf = (key: string) => new Keyring(new Sensitive(key)).currentId;

  usePlatform({ engine: 'postgres', env: { SECRETS_KEY: oldKey } }, async (started) => {
    platform = started;
    ({ service, repository } = await platform.serviceOf('rotated', nodeServer('rotated')));
    const { variable } = await platform.client.expect<{ variable: { id: string } }>(
      'POST',
      `/services/${service.id}/variables`,
      { key: 'TOKEN', value: 'value-0' },
    );
    variableId = variable.id;
    first = (await deploy(platform.client, service.id)).id;
  });

  async function endOf(main: string, env: Record<string, string>): Promise<PlatformProcess> {
    const path = fileURLToPath(new URL(`../../${main}`, import.meta.url));
    const started = new PlatformProcess(main, process.execPath, [path], environment(env));
    platform.processes.push(started);
    await eventually(`${main} ends`, () => started.ended);
    return started;
  }

  function environment(env: Record<string, string>): Record<string, string> {
    return { ...platform.env, ...env };
  }

  function rotate(env: Record<string, string>) {
    return admin(['secrets', 'rotate', '--json'], env);
  }

  function admin(
    args: string[],
    env: Record<string, string>,
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      execFile(process.execPath, [ADMIN, ...args], { env: environment(env) }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      );
    });
  }

  async function restart(env: Record<string, string>): Promise<void> {
    for (const running of platform.processes.filter((each) => each.name !== 'edge')) await running.stop();
    Object.assign(platform.env, env);
    await Promise.all([platform.startApi(), platform.startWorker()]);
  }

  async function answeredToken(): Promise<string> {
    return JSON.parse((await platform.visit(service, '/env')).body).TOKEN;
  }

  it('a process with a key that does not open what is stored says so and ends with 1', async () => {
    for (const main of ['programs/api.js', 'programs/worker.js']) {
      const { child, output } = await endOf(main, { SECRETS_KEY: strange });
      expect(child.exitCode, main).to.equal(1);
      expect(output).to.contain('SECRETS_KEY').and.contain(idOf(strange)).and.contain(idOf(oldKey));
      expect(output).to.not.contain(strange);
    }
    const { code, stderr } = await rotate({ SECRETS_KEY: strange });
    expect(code).to.equal(1);
    expect(stderr).to.contain(idOf(oldKey));
  });

  it('is refused with keys that are none', async () => {
    const { code, stderr } = await rotate({ SECRETS_KEY_PREVIOUS: `${newKey},short` });
    expect(code).to.equal(1);
    expect(stderr).to.contain('SECRETS_KEY_PREVIOUS').and.not.contain('short');
  });

  it('goes on where it was killed, while deployments run and variables change, and loses no change', async () => {
    await restart({ SECRETS_KEY: newKey, SECRETS_KEY_PREVIOUS: oldKey });
    const { db } = platform.database;
    const [{ workspace_id: workspaceId }] = await db('services').where({ id: service.id }).select('workspace_id');
    const other = await createService(platform.client, { name: 'many', configuration: { repository: repository.url } });
    const older = new Keyring(new Sensitive(oldKey));
    const rows = Array.from({ length: MANY }, (_, i) => {
      const id = uuidv7();
      return {
        id,
        workspace_id: workspaceId,
        service_id: other.id,
        key: `V${i}`,
        sealed: older.seal(`many-${i}`, `variable:${id}`),
      };
    });
    await db.batchInsert('variables', rows, 500);
    const resealed = async () => {
      const [row] = await db('variables')
        .whereRaw(`encode(substring(sealed from 2 for 4), 'hex') = ?`, [idOf(newKey)])
        .count();
      return Number(row?.count);
    };

    const killed = spawn(process.execPath, [ADMIN, 'secrets', 'rotate'], { env: environment({}), stdio: 'ignore' });
    const end = once(killed, 'exit');
    await eventually('some values are sealed anew', async () => (await resealed()) > 20);
    killed.kill('SIGKILL');
    await end;
    const before = await resealed();
    expect(before).to.be.lessThan(MANY);

    let changes = 0;
    let rotating = true;
    const changing = (async () => {
      while (rotating) {
        changes += 1;
        await platform.client.expect('PATCH', `/services/${service.id}/variables/${variableId}`, {
          value: `value-${changes}`,
        });
        await delay(20);
      }
    })();
    const deploying = deploy(platform.client, service.id);
    const rotation = await rotate({});
    rotating = false;
    await changing;
    expect(rotation.code, rotation.stderr).to.equal(0);
    const report = JSON.parse(rotation.stdout);
    expect(report).to.deep.include({ key: idOf(newKey), unopenable: [] });
    expect(report.resealed.variables).to.be.within(1, MANY + 1 - before + 1);
    expect(report.resealed.snapshots).to.be.at.least(1);
    await deploying;

    const newer = new Keyring(new Sensitive(newKey));
    const values = await db('variables').where({ service_id: other.id }).select('id', 'key', 'sealed');
    for (const row of values) {
      expect(newer.open(row.sealed, `variable:${row.id}`)).to.equal(`many-${row.key.slice(1)}`);
    }
    const [last] = await db('variables').where({ id: variableId });
    expect(newer.open(last.sealed, `variable:${variableId}`)).to.equal(`value-${changes}`);
    const again = JSON.parse((await rotate({})).stdout);
    expect(again.resealed).to.include({ variables: 0, snapshots: 0, deployments: 0 });
  });

  it('afterwards the old key is needed for nothing, and does not do for anything', async () => {
    await restart({ SECRETS_KEY: newKey, SECRETS_KEY_PREVIOUS: '' });
    await platform.client.expect('PATCH', `/services/${service.id}/variables/${variableId}`, { value: 'after' });
    await deploy(platform.client, service.id);
    await eventually('the edge serves the new release', async () => (await answeredToken()) === 'after');
    const { deployment } = await platform.client.expect<{ deployment: { id: string } }>(
      'POST',
      `/services/${service.id}/deploys/${first}/rollback`,
      { confirm: 'rotated' },
    );
    expect((await ended(platform.client, service.id, deployment.id)).status).to.equal('live');
    await eventually('the edge serves the rollback', async () => (await answeredToken()) === 'value-0');
    const { child, output } = await endOf('programs/worker.js', { SECRETS_KEY: oldKey });
    expect(child.exitCode).to.equal(1);
    expect(output).to.contain(idOf(newKey));
  });

  it('a deployment whose variables cannot be opened fails and names the key; so does its request', async () => {
    for (const worker of platform.workers) await worker.stop();
    const { db } = platform.database;
    const { id } = await queueDeploy(platform.client, service.id);
    const alien = new Keyring(new Sensitive(strange));
    const { snapshot_id: snapshot } = await db('deployments').where({ id }).first('snapshot_id');
    await db('snapshots')
      .where({ id: snapshot })
      .update({ sealed: alien.seal('{}', `deployment:${snapshot}`) });
    await platform.startWorker();
    const deployment = await ended(platform.client, service.id, id);
    expect(deployment.status).to.equal('failed');
    expect(deployment.error).to.contain('cannot be opened').and.contain(idOf(strange)).and.contain('SECRETS_KEY');
    expect(await answeredToken()).to.equal('value-0');

    const report = await rotate({});
    expect(report.code).to.equal(1);
    expect(JSON.parse(report.stdout).unopenable.map((each: { id: string }) => each.id)).to.deep.equal([snapshot]);

    await db('variables')
      .where({ id: variableId })
      .update({ sealed: alien.seal('x', `variable:${variableId}`) });
    const refused = await platform.client.call<{ error: { message: string } }>(
      'POST',
      `/services/${service.id}/deploys`,
      {},
    );
    expect(refused.status, JSON.stringify(refused.body)).to.equal(400);
    expect(refused.body.error.message).to.contain('TOKEN').and.contain(idOf(strange));
  });

  it('a key that is lost keeps nobody out for good: an operator has it forgotten, and what it sealed is set again', async () => {
    const { db } = platform.database;
    const lost = idOf(strange);
    await db('secrets_keys').insert({ key_id: lost });
    expect((await endOf('programs/worker.js', {})).output).to.contain(lost);
    const inUse = await admin(['secrets', 'forget', '--id', idOf(newKey), '--json'], {});
    expect(inUse.code).to.equal(1);
    expect(inUse.stderr).to.contain('not lost');

    const { code, stdout } = await admin(['secrets', 'forget', '--id', lost, '--json'], {});
    expect(code).to.equal(0);
    const closed = Object.fromEntries(SEALED_COLUMNS.map(({ table }) => [table, 0]));
    expect(JSON.parse(stdout)).to.deep.equal({ forgotten: lost, closed: { ...closed, variables: 1, snapshots: 1 } });
    await platform.startWorker();
    await platform.client.expect('PATCH', `/services/${service.id}/variables/${variableId}`, { value: 'set again' });
    await deploy(platform.client, service.id);
    expect(await answeredToken()).to.equal('set again');
  });
});
