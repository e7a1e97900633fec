import { visit } from '../support/client.js';
import { createService, ended, queueDeploy, readLogs, readService } from '../support/deployments.js';
import { startPlatform } from '../support/platform.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/postgres.js';

/** `npm run check:languages [-- part of a name …]`: deploys a public project of each language from the internet. */
interface LanguageProject {
  name: string;
  repository: string;
  rootDirectory?: string;
  variables?: { key: string; value: string }[];
}
const DEPLOY_MS = 1_200_000;
/** Phoenix connects to its database at the start, but serves pages without it. */
const NO_DATABASE = [{ key: 'DATABASE_URL', value: 'ecto://none:none@127.0.0.1/none' }];

const PROJECTS: readonly LanguageProject[] = [
  { name: 'Node.js', repository: 'heroku/node-js-getting-started' },
  { name: 'Python', repository: 'heroku/python-getting-started' },
  { name: 'Ruby', repository: 'heroku/ruby-getting-started' },
  { name: 'PHP', repository: 'heroku/php-getting-started' },
  { name: 'Go', repository: 'heroku/go-getting-started' },
  { name: 'Rust', repository: 'render-examples/rocket-rust-hello-world' },
  { name: 'Java with Maven', repository: 'heroku/java-getting-started' },
  { name: 'Java with Gradle', repository: 'heroku/gradle-getting-started' },
  { name: '.NET', repository: 'heroku/dotnet-getting-started', rootDirectory: 'Frontend' },
  { name: 'Elixir', repository: 'gigalixir/gigalixir-getting-started', variables: NO_DATABASE },
  { name: 'Bun', repository: 'render-examples/elysiajs-hello-world' },
  { name: 'Deno', repository: 'denoland/examples', rootDirectory: 'simple-server' },
];

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const chosen = PROJECTS.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)),
);
let live = 0;
await mochaGlobalSetup();
try {
  const platform = await startPlatform({ engine: 'postgres' });
  try {
    for (const project of chosen) {
      const began = Date.now();
      const problem = await deploy(project).catch((error: unknown) => String(error));
      const seconds = Math.round((Date.now() - began) / 1000);
      if (problem === null) live += 1;
      process.stdout.write(
        `${problem === null ? 'live  ' : 'FAILED'} ${seconds} s  ${project.name} ${problem ?? ''}\n`,
      );
    }
  } finally {
    await platform.stop();
  }

  async function deploy({ name, repository, ...rest }: LanguageProject): Promise<string | null> {
    const { client, edgePort } = platform;
    const { rootDirectory = '', variables = [] } = rest;
    const configuration = { repository: `https://github.com/${repository}`, rootDirectory };
    const { id } = await createService(client, { name, configuration, variables });
    const deployment = await ended(client, id, (await queueDeploy(client, id)).id, DEPLOY_MS);
    if (deployment.status !== 'live') {
      const lines = (await readLogs(client, id)).slice(-20).map(({ message }) => `  ${message}`);
      return [deployment.error, ...lines].join('\n');
    }
    const page = await visit((await readService(client, id)).url, edgePort);
    await client.expect('POST', `/services/${id}/actions`, { action: 'suspend' });
    return page.status < 400 ? null : `its page answers ${page.status}: ${page.body.slice(0, 200)}`;
  }
} finally {
  await mochaGlobalTeardown();
}
process.stdout.write(`${live} of ${chosen.length} went live\n`);
process.exit(live === chosen.length ? 0 : 1);
