/** A language whose compiler or interpreter the host may have; otherwise mise installs it. */
interface LanguageTool {
  /** The language's name in messages. */
  shown: string;
  /** The command that prints the host's version. */
  probe: readonly [program: string, ...args: string[]];
  version: RegExp;
  /** The Debian packages that contain the language; '' if there are none. */
  packages: string;
  /** The language's names in `.tool-versions` and `mise.toml`. */
  names: readonly string[];
}

const PLAIN = /(\d+\.\d+(?:\.\d+)?)/;

export const LANGUAGE_TOOLS = {
  python: tool('Python', ['python3', '--version'], 'python3 python3-pip', ['python']),
  go: tool('Go', ['go', 'version'], 'golang', ['go', 'golang']),
  ruby: tool('Ruby', ['ruby', '--version'], 'ruby-full bundler', ['ruby']),
  rust: tool('Rust', ['rustc', '--version'], 'cargo', ['rust']),
  elixir: { ...tool('Elixir', ['elixir', '--version'], 'elixir', ['elixir']), version: /Elixir (\d+\.\d+\.\d+)/ },
  php: tool('PHP', ['php', '--version'], 'php-cli composer', ['php']),
  java: { ...tool('Java', ['javac', '-version'], 'default-jdk-headless', ['java']), version: /javac (\d+(?:\.\d+)*)/ },
  maven: tool('Maven', ['mvn', '--version'], 'maven', ['maven']),
  gradle: { ...tool('Gradle', ['gradle', '--version'], 'gradle', ['gradle']), version: /Gradle (\d+\.\d+(?:\.\d+)?)/ },
  // Deno is installed from an npm package, and not with mise.
  deno: tool('Deno', ['deno', '--version'], '', ['deno']),
  dotnet: tool('.NET', ['dotnet', '--version'], '', ['dotnet', 'dotnet-core']),
} as const satisfies Readonly<Record<string, LanguageTool>>;

export type LanguageName = keyof typeof LANGUAGE_TOOLS;

export function isLanguage(name: string): name is LanguageName {
  return Object.hasOwn(LANGUAGE_TOOLS, name);
}

function tool(shown: string, probe: LanguageTool['probe'], packages: string, names: readonly string[]): LanguageTool {
  return { shown, probe, version: PLAIN, packages, names };
}
