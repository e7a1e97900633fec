import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  inPlace,
  type NpmPackage,
  packageVariables,
  scriptCommand,
} from '../../../../../workers/builders/toolchains/npm-script.js';

const pkg = (scripts: Record<string, string>, more: object = {}): NpmPackage => ({ name: 'app', scripts, ...more });

function run(command: string | null, folder: string): string {
  return execFileSync('/bin/sh', ['-c', command ?? 'false'], { cwd: folder, encoding: 'utf8' });
}

describe('A script of package.json without npm', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ranvier-script-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is left to npm if the command has arguments, is no script, or names none', () => {
    const scripts = { start: 'node server.js' };
    for (const command of [
      ...['npm start -- --port 1', 'npm ci', 'node server.js', 'npm run', 'npm run other', 'yarn start'],
    ]) {
      expect(scriptCommand(command, pkg(scripts)), command).to.equal(null);
    }
    expect(scriptCommand('npm start', pkg({}))).to.equal(null);
    expect(scriptCommand('npm start', pkg({ start: 'x'.repeat(70_000) }))).to.equal(null);
    expect(scriptCommand('npm start', pkg({ start: 'a\0b' }))).to.equal(null);
    for (const command of ['npm start', ' npm run start ', 'npm run-script start']) {
      expect(scriptCommand(command, pkg(scripts)), command).to.be.a('string');
    }
  });

  it('runs with the scripts before and after it, and ends with the first that fails', () => {
    const scripts = { prestart: 'echo one', start: `echo "it's two" && echo three`, poststart: 'echo four' };
    expect(run(scriptCommand('npm start', pkg(scripts)), folder)).to.equal(`one\nit's two\nthree\nfour\n`);
    expect(run(scriptCommand('npm run start', pkg({ start: 'echo only' })), folder)).to.equal('only\n');
    const fails = scriptCommand('npm start', pkg({ ...scripts, start: 'exit 7' }));
    expect(() => run(fails, folder))
      .to.throw()
      .with.property('status', 7);
  });

  it('replaces the shell, so that no other process stays', () => {
    writeFileSync(join(folder, 'pid.js'), 'console.log(process.pid)');
    const command = `echo $$; ${scriptCommand('npm start', pkg({ start: 'node pid.js' }))}`;
    const [shell, node] = run(command, folder).trim().split('\n');
    expect(node).to.equal(shell);
  });

  it('replaces the shell only by a program that is the whole script', () => {
    expect(inPlace('node server.js --port $PORT')).to.equal('exec node server.js --port $PORT');
    expect(inPlace(' A=1 B= ./bin/run "a b"')).to.equal('A=1 B= exec ./bin/run "a b"');
    for (const script of [
      ...['cd app && node x', 'cd app', 'node x; node y', 'node x | tee', 'a="b c" node x', '"node" x', 'if x'],
      '',
    ]) {
      expect(inPlace(script), script).to.equal(script);
    }
  });

  it("has npm's variables and finds programs of the project and of the folders above it", () => {
    const start =
      'echo $npm_lifecycle_event,$npm_lifecycle_script,$npm_command,$npm_package_name,$npm_package_config_port,$INIT_CWD';
    const command = scriptCommand(
      'npm start',
      pkg({ start: `${start.replace('$npm_lifecycle_script,', '')}` }, { config: { port: 80 } }),
    );
    expect(run(command, folder)).to.equal(`start,start,app,80,${folder}\n`);
    const [first, second] = run(scriptCommand('npm run p', pkg({ p: 'echo $PATH' })), folder).split(':');
    expect([first, second]).to.deep.equal([join(folder, 'node_modules/.bin'), join(folder, '../node_modules/.bin')]);
  });

  it('names the values of package.json as npm does', () => {
    const values = {
      name: '@x/app',
      version: '1.2.3',
      config: { a: { b: [1, null, false] }, 'no-name': 1 },
      bin: 'cli.js',
    };
    expect(packageVariables({ ...values, engines: { node: '>=18' }, scripts: {} })).to.deep.equal({
      npm_package_name: '@x/app',
      npm_package_version: '1.2.3',
      npm_package_config_a_b_0: '1',
      npm_package_config_a_b_1: '',
      npm_package_config_a_b_2: '',
      npm_package_engines_node: '>=18',
      npm_package_bin_app: 'cli.js',
    });
  });
});
