import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import { type NamedVersion, versionFile, versionIn } from '../toolchains/version-files.js';
import { wishesFor } from '../toolchains/version-wish.js';
import { withAssets } from './assets.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';

/** Elixir projects, recognised by mix.exs. A Phoenix application is built as a Mix release. */
export const elixir: Language = {
  runtime: 'elixir',
  marks: ['mix.exs'],
  reads: ['mix.exs', '.elixir-version'],
  matches: (files) => files.has('mix.exs'),
  leads: () => true,
  plan(files): LanguagePlan {
    const text = files.text('mix.exs') ?? '';
    const app = /\bapp:\s*:([a-z]\w{0,60})/.exec(text)?.[1] ?? 'app';
    const isPhoenix = /\{\s*:phoenix\s*,/.test(text);
    const isRelease = isPhoenix || /\breleases:/.test(text);
    // Hex, Elixir's package manager, is installed only if the project uses packages from its registry.
    const usesHex = /\{\s*:\w{1,80}\s*,\s*(">|"~|"=|"<|"\d)/.test(text) && !files.has('deps');
    const plan: LanguagePlan = {
      ...EMPTY_PLAN,
      versions: wishesFor(languageWish(files, 'elixir', versionsOf(files))),
      install: [
        ...(usesHex ? ['mix local.hex --force --if-missing', 'mix local.rebar --force --if-missing'] : []),
        ...(/\bdeps\b/.test(text) && !files.has('deps') ? ['mix deps.get --only prod'] : []),
      ],
      manifests: /\bpath:/.test(text) ? null : ['mix.exs', 'mix.lock'].filter(files.has),
      dependencies: usesHex ? 'deps' : null,
      build: [
        'mix compile',
        ...(/"assets\.deploy"|assets\.deploy:/.test(text) ? ['mix assets.deploy'] : []),
        ...(isRelease ? ['mix release --overwrite'] : []),
      ],
      start: isRelease ? `_build/prod/rel/${app}/bin/${app} start` : 'mix run --no-halt',
      startAdvice: 'keep a mix.exs with an application in the root directory',
      environment: { MIX_ENV: 'prod', LANG: 'C.UTF-8', ...(isPhoenix ? { PHX_SERVER: 'true' } : {}) },
      caches: { MIX_HOME: 'mix', HEX_HOME: 'hex' },
    };
    return withAssets(files, isPhoenix ? { ...plan, startProgram: withSecret(plan.start ?? '') } : plan);
  },
};

function versionsOf(files: ProjectFiles): (NamedVersion | null)[] {
  const required = versionIn(files, 'mix.exs', /\belixir:\s*"([^"\n]{1,60})"/, 'elixir in mix.exs');
  return [versionFile(files, '.elixir-version'), required && { ...required, optional: true }];
}

/**
 * Returns a shell script that generates SECRET_KEY_BASE if it is not set: Phoenix does not start without this secret.
 */
function withSecret(start: string): string {
  return `if [ -z "$SECRET_KEY_BASE" ]; then
  echo 'SECRET_KEY_BASE is not set: this replica makes one of its own, so that every start signs all users out. Set the variable to the output of "mix phx.gen.secret".' >&2
  export SECRET_KEY_BASE="$(head -c 48 /dev/urandom | base64 | tr -d '\\n')"
fi
exec ${start}`;
}
