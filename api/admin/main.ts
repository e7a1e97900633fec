import '../../shared/core/node-version.js';
import { runAdmin } from './program.js';

/** `npm run admin -- …`: operators' commands, which do not use the API. */
process.exitCode = await runAdmin(process.argv.slice(2), {
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
});
