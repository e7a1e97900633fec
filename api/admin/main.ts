import '../../shared/core/node-version.js';
import { runAdmin } from './program.js';

/** Entry point of `npm run admin -- …`: operator commands. They access the database directly instead of the API. */
process.exitCode = await runAdmin(process.argv.slice(2), {
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
});
