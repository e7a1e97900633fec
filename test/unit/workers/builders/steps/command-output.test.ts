import { expect } from 'chai';
import { CommandOutput } from '../../../../../workers/builders/steps/command-output.js';

describe('The line that tells why a command failed', () => {
  async function cause(...lines: string[]): Promise<string> {
    const output = new CommandOutput({ signal: new AbortController().signal, log: async () => undefined });
    for (const line of lines) await output.write(line);
    return output.cause();
  }

  it('is the last one that names a cause', async () => {
    expect(await cause('Error: first', 'Error: the cause', '    at main (x.js:1:1)', 'npm error code 1')).to.equal(
      'Error: the cause',
    );
    expect(await cause('one', 'two')).to.equal('two');
    expect(
      await cause(
        'npm error code ETARGET',
        'npm error notarget No matching version found for a@canary.',
        'npm error notarget In most cases you or one of your dependencies are requesting',
        "npm error notarget a package version that doesn't exist.",
      ),
    ).to.equal('npm error notarget No matching version found for a@canary.');
    expect(await cause()).to.equal('');
    expect(
      await cause('Error: the cause', '> app@1.0.0 build', `> node -e "throw new Error('text of the command')"`),
      'an echo of the command that arrives late',
    ).to.equal('Error: the cause');
    expect(await cause("Execution failed for task ':compile'.", '> Compilation failed')).to.equal(
      '> Compilation failed',
    );
  });

  it("names the package, and not yarn's summary", async () => {
    const found = await cause(
      '➤ YN0000: · Yarn 4.6.0',
      '➤ YN0035: │ @acme/ui@npm:0.4.12: Package not found',
      '➤ YN0035: │   Response Code: 404 (Not Found)',
      '➤ YN0035: │   Request Method: GET',
      '➤ YN0000: · Failed with errors in 1m 36s',
    );
    expect(found).to.equal('➤ YN0035: │ @acme/ui@npm:0.4.12: Package not found');
  });

  it("names what a task printed, and not Turborepo's summary", async () => {
    const found = await cause(
      'web:build: Type error: Property "x" does not exist.',
      'web:build:  ELIFECYCLE  Command failed with exit code 1.',
      'web:build: ERROR: command finished with error: command (/mnt/app/apps/web) pnpm run build exited (1)',
      'web#build: command (/mnt/app/apps/web) pnpm run build exited (1)',
      'Failed:    web#build',
      ' ERROR  run failed: command  exited (1)',
    );
    expect(found).to.equal('web:build: Type error: Property "x" does not exist.');
  });
});
