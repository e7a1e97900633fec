import type { Sample } from './sample.js';

export const SHELL_SAMPLES: readonly Sample[] = [
  {
    name: 'Shell: start.sh',
    needs: 'python3',
    files: {
      'start.sh':
        'mkdir -p /tmp/www && echo hello of a shell >/tmp/www/index.html\nexec python3 -m http.server "$PORT" --directory /tmp/www\n',
    },
    expects: { body: 'hello of a shell' },
  },
];
