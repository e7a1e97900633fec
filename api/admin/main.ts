import '../../shared/core/node-version.js';
import { runAdmin } from './program.js';

/** Entry point of `npm run admin`, whose commands use the database directly, not the API. */
process.exitCode = await runAdmin(process.argv.slice(2), {
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
});
