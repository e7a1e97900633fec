import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { freeName } from '../../../../shared/operator/install/copy-package.js';
import { keepSettings, parseSettings, settingsText } from '../../../../shared/operator/install/settings-file.js';
import { unitFiles } from '../../../../shared/operator/install/units.js';
import { backupsToRemove, reasonAgainst } from '../../../../shared/operator/install/upgrade.js';
import { useFolders } from '../../../support/folders.js';

const PROCESSES = ['api', 'worker', 'edge'].map((name) => ({ name, command: `node --flag dist/${name}.js` }));
const INSTALLATION = {
  ...{ root: '/opt/ranvier', dataDir: '/var/lib/ranvier', settingsFile: '/etc/ranvier/ranvier.env' },
  ...{ ports: { api: 3000, edge: 80 }, isEmbedded: true },
};

describe('Installing the platform', () => {
  const newFolder = useFolders();
  it('makes a unit of each process, sockets for two, and one of PostgreSQL if it comes along', () => {
    const embedded = unitFiles(INSTALLATION, PROCESSES);
    expect(Object.keys(embedded)).to.have.members([
      ...['ranvier.target', 'ranvier-api.socket', 'ranvier-edge.socket', 'ranvier-postgres.service'],
      ...PROCESSES.map(({ name }) => `ranvier-${name}.service`),
    ]);
    expect(embedded['ranvier-api.service']).to.include('ExecStart=/opt/ranvier/current/node --flag dist/api.js');
    expect(embedded['ranvier-edge.socket']).to.include('ListenStream=80');
    const own = unitFiles({ ...INSTALLATION, isEmbedded: false }, PROCESSES);
    expect(Object.values(own).filter((text) => text.includes('postgres'))).to.deep.equal([]);
  });

  it('lets applications outlive their worker, and takes rights from the others', () => {
    const units = unitFiles(INSTALLATION, PROCESSES);
    expect(units['ranvier-worker.service']).to.include('KillMode=process');
    for (const name of ['api', 'edge', 'postgres']) {
      expect(units[`ranvier-${name}.service`], name)
        .to.include('ProtectSystem=strict')
        .and.to.include('CapabilityBoundingSet=');
    }
  });

  it('keeps the settings that exist, and makes a key once', async () => {
    const folder = await newFolder();
    const path = join(folder, 'etc/ranvier.env');
    const first = await keepSettings(path, { PORT: '3000' });
    expect(first).to.include({ PORT: '3000' });
    expect(Buffer.from(first.SECRETS_KEY ?? '', 'base64')).to.have.length(32);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    await writeFile(path, `${await readFile(path, 'utf8')}EDGE=caddy`);
    expect(await keepSettings(path, { PORT: '1', DATA_DIR: '/a b' })).to.deep.equal({
      ...first,
      EDGE: 'caddy',
      DATA_DIR: '/a b',
    });
    expect(parseSettings(await readFile(path, 'utf8'))).to.include({ PORT: '3000', EDGE: 'caddy', DATA_DIR: '/a b' });
    expect(() => settingsText({ DATABASE_URL: "a'b" })).to.throw("DATABASE_URL must not contain ' or a line break");
  });

  it('takes a newer version or another build of the same, and no older one', () => {
    expect(reasonAgainst('1.2.3', '1.3.0')).to.equal(null);
    expect(reasonAgainst('1.2.3+2', '1.2.3')).to.equal(null);
    expect(reasonAgainst('1.10.0', '1.9.0')).to.match(/^1\.10\.0 is installed, which is newer than 1\.9\.0/);
  });

  it('keeps the three latest backups, whatever their versions', () => {
    const backups = ['1.10.0-400', '1.9.0-200', '1.9.0-1', '1.9.1-300'];
    expect(backupsToRemove(backups)).to.deep.equal(['1.9.0-1']);
    expect(backupsToRemove(['1.9.0-200'])).to.deep.equal([]);
  });

  it('never changes the files of a version that runs', () => {
    expect(freeName('1.2.3', [])).to.equal('1.2.3');
    expect(freeName('1.2.3', ['current', '1.2.3', '1.2.3+2'])).to.equal('1.2.3+3');
  });
});
