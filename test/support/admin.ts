import { runAdmin as run } from '../../api/admin/program.js';

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `npm run admin -- …` on this database, in this process, because a new one takes ten times as long. */
export function runAdmin(url: string, ...args: string[]): Promise<Result> {
  return runAdminIn({ DATABASE_URL: url }, ...args);
}

/** Runs `npm run admin -- …` with this environment. */
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
