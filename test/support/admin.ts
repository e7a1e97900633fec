import { runAdmin as run } from '../../api/admin/program.js';

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** `npm run admin -- …` on this database, in this process: to start one of its own takes ten times as long. */
export function runAdmin(url: string, ...args: string[]): Promise<Result> {
  return runAdminIn({ DATABASE_URL: url }, ...args);
}

/** `npm run admin -- …` with this environment. */
export async function runAdminIn(env: Record<string, string>, ...args: string[]): Promise<Result> {
  let [stdout, stderr] = ['', ''];
  const code = await run(args, {
    env,
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
    },
  });
  return { code, stdout, stderr };
}
