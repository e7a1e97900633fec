import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Files } from '../../../support/repositories.js';
import type { Sample } from './sample.js';

const SERVER = `
require 'socket'
def serve(host, port, body)
  server = TCPServer.new(host, Integer(port))
  trap('TERM') { exit }
  loop do
    client = server.accept
    while (line = client.gets) && line != "\\r\\n"; end
    client.write "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: #{body.bytesize}\\r\\n\\r\\n#{body}"
    client.close
  end
end
`;

function packedGem(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'ranvier-gem-'));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o755 });
  try {
    write(
      'rackup.gemspec',
      `Gem::Specification.new do |s|
        s.name, s.version, s.summary, s.authors = 'rackup', '9.0.0', 'A server for tests', ['Tests']
        s.license, s.homepage = 'MIT', 'https://example.test'
        s.bindir, s.executables, s.files = '.', ['rackup'], ['rackup']
      end`,
    );
    const options = "host = ARGV[ARGV.index('--host') + 1]; port = ARGV[ARGV.index('--port') + 1]";
    write('rackup', `#!/usr/bin/env ruby\n${SERVER}${options}\nserve host, port, eval(File.read('config.ru'))\n`);
    execFileSync('gem', ['build', '--quiet', 'rackup.gemspec'], { cwd: folder, stdio: 'ignore' });
    return readFileSync(join(folder, 'rackup-9.0.0.gem'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const RUBY_SAMPLES: readonly Sample[] = [
  {
    name: 'Ruby: one file, without gems',
    needs: 'ruby',
    files: {
      'main.rb': `${SERVER}serve '0.0.0.0', ENV.fetch('PORT'), "Grüße of #{ENV['RACK_ENV']}"\n`,
      '.ruby-version': '3',
    },
    expects: { body: 'Grüße of production' },
  },
  {
    name: 'Ruby: vendored gems, with a lock file of another platform and another Bundler',
    needs: 'bundle',
    get files(): Files {
      return {
        Gemfile: 'source "https://rubygems.org"\ngem "rackup"\n',
        'Gemfile.lock':
          'GEM\n  remote: https://rubygems.org/\n  specs:\n    rackup (9.0.0)\n\nPLATFORMS\n  arm64-darwin-22\n\n' +
          'DEPENDENCIES\n  rackup\n\nBUNDLED WITH\n   9.9.9\n',
        'vendor/cache/rackup-9.0.0.gem': packedGem(),
        '.bundle/config': '---\nBUNDLE_PATH: "/nowhere"\n',
        'config.ru': '"hello of #{Gem.loaded_specs[\'rackup\'].version}"',
      };
    },
    expects: { body: 'hello of 9.0.0' },
  },
];
