import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ADMIN = fileURLToPath(new URL('../../api/admin/main.js', import.meta.url));

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** `npm run admin -- …` on this database. */
export function runAdmin(url: string, ...args: string[]): Promise<Result> {
  return runAdminIn({ DATABASE_URL: url }, ...args);
}

/** `npm run admin -- …` with this environment. */
export function runAdminIn(env: Record<string, string>, ...args: string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [ADMIN, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}
