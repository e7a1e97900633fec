import { packageJson } from '../../../support/repositories.js';
import type { Sample } from './sample.js';

const LIBRARY = {
  'packages/greeting/composer.json': JSON.stringify({
    name: 'tests/greeting',
    version: '1.0.0',
    autoload: { 'psr-4': { 'Tests\\': 'src' } },
  }),
  'packages/greeting/src/Greeting.php': '<?php namespace Tests; class Greeting { const TEXT = "hello"; }',
};

export const PHP_SAMPLES: readonly Sample[] = [
  {
    name: 'PHP: plain files behind php-fpm',
    needs: 'php-fpm8.2',
    files: { 'index.php': '<?php session_start(); echo php_sapi_name(), " ", $_SERVER["REQUEST_URI"];' },
    expects: { body: 'fpm-fcgi /' },
  },
  {
    name: 'PHP: Composer with a package of the repository, and a folder of its own for the web',
    needs: 'composer',
    files: {
      ...LIBRARY,
      'composer.json': JSON.stringify({
        require: { php: '>=7.4', 'tests/greeting': '*' },
        repositories: [{ type: 'path', url: 'packages/*' }, { 'packagist.org': false }],
        autoload: { classmap: ['src'] },
      }),
      'src/Word.php': '<?php class Word { const TEXT = "of a class"; }',
      'public/index.php':
        '<?php require dirname(__DIR__) . "/vendor/autoload.php"; echo Tests\\Greeting::TEXT, " ", Word::TEXT;',
    },
    expects: { body: 'hello of a class' },
  },
  {
    name: 'PHP: assets that Node.js builds',
    needs: 'php',
    files: {
      'package.json': packageJson({ scripts: { build: 'node build.js' } }),
      'build.js': 'require("node:fs").writeFileSync("manifest.json", "{\\"word\\":\\"built\\"}");',
      'index.php': '<?php echo json_decode(file_get_contents("manifest.json"))->word;',
    },
    expects: { body: 'built' },
  },
];
